package app_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/impl/app"
	"a2aserve/impl/card"
	"a2aserve/impl/config"
)

// A card that cannot be served refuses the whole reload, and a server that has stopped
// ignores it.
func TestReloadRefusesABadCard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "card.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"name":"N","description":"D","version":"1","skills":[{"id":"a","name":"A","description":"A","tags":["a"]}],
"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"supportedInterfaces":[{"url":"http://x","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	write(good)
	read := func() (*config.Config, error) {
		return config.Parse("test.yaml", []byte("agent: {driver: demo}\ncard_file: "+file+"\nbind: 127.0.0.1:0\nstore: {path: "+filepath.Join(filepath.Dir(file), "x.db")+"}\n"))
	}
	cfg, err := read()
	if err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	a, stop := start(t, cfg, app.Options{Reload: read, Log: slog.New(slog.NewTextHandler(&logs, nil))})
	write(`{"name":"Other"}`)
	err = a.Reload()
	if _, ok := errors.AsType[*card.InvalidError](err); !ok || !strings.Contains(logs.String(), "description: ") {
		t.Errorf("got %v\n%s", err, &logs)
	}
	if _, body := do(t, "GET", a.URL()+card.Path, ""); !strings.Contains(body, `"name":"N"`) {
		t.Errorf("the card is gone: %s", body)
	}
	write(strings.Replace(good, `"N"`, `"M"`, 1))
	if err := a.Reload(); err != nil {
		t.Error(err)
	}
	if _, body := do(t, "GET", a.URL()+card.Path, ""); !strings.Contains(body, `"name":"M"`) {
		t.Errorf("the card is the old one: %s", body)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := a.Reload(); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestReloadWithoutASource(t *testing.T) {
	a, _ := start(t, configuration(t, ""), app.Options{})
	if err := a.Reload(); !errors.Is(err, app.ErrNotReloadable) {
		t.Errorf("got %v", err)
	}
}
