package a2aserve_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve"
	"a2aserve/gen/event"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent answers every message with what it was told.
func agent(log *slog.Logger) *a2aserve.Bus {
	b := a2aserve.NewBus(log)
	a2aserve.On(b, func(in event.Input) {
		_ = b.Emit(event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID})
		_ = b.Emit(event.Output{TurnID: in.TaskID, Role: "assistant", Content: "You said: " + in.Text})
		_ = b.Emit(event.TurnEnd{TurnID: in.TaskID})
	})
	return b
}

func configuration(t *testing.T) a2aserve.Config {
	cfg := a2aserve.DefaultConfig()
	cfg.Bind = "127.0.0.1:0"
	cfg.Store.Path = filepath.Join(t.TempDir(), "embedded.db")
	cfg.Card = &a2aserve.Card{Name: "Embedded agent", Description: "Repeats.", Version: "1.0.0",
		Skills: []a2aserve.Skill{{ID: "repeat", Name: "Repeat", Description: "Repeats what it is told."}}}
	return cfg
}

// serve runs a server until the test ends.
func serve(t *testing.T, cfg a2aserve.Config, o a2aserve.Options) (url string) {
	t.Helper()
	s, err := a2aserve.New(t.Context(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL()
}

func do(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const hello = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`

func TestEmbeddedAgent(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, configuration(t), a2aserve.Options{
		Driver: a2aserve.OnBus(agent(log), a2aserve.Agent{SessionID: "session-1"}), Unwired: []string{"SendStreamingMessage", "SubscribeToTask"},
		Listener: listener, Log: log,
	})
	if want := "http://" + listener.Addr().String(); url != want {
		t.Errorf("serves %s, want %s", url, want)
	}
	if status, body := do(t, "POST", url+"/a2a/v1/message:send", hello); status != 200 || !strings.Contains(body, "You said: hello") || !strings.Contains(body, `"contextId":"session-1"`) {
		t.Errorf("send: %d %s", status, body)
	}
	if _, body := do(t, "GET", url+"/.well-known/agent-card.json", ""); !strings.Contains(body, `"streaming":false`) || !strings.Contains(body, "Embedded agent") {
		t.Errorf("card: %s", body)
	}
	if status, body := do(t, "POST", url+"/a2a/v1/message:stream", hello); status != 400 || !strings.Contains(body, "UNSUPPORTED_OPERATION") {
		t.Errorf("unwired streaming: %d %s", status, body)
	}
}

func TestMistakesInCode(t *testing.T) {
	cfg := configuration(t)
	cfg.Bind = "nowhere"
	cfg.Tasks.TTL = "soon"
	_, err := a2aserve.New(t.Context(), cfg, a2aserve.Options{})
	if e, ok := errors.AsType[a2aserve.ConfigErrors](err); !ok || len(e) != 2 {
		t.Errorf("got %v", err)
	}
	if _, err := a2aserve.New(t.Context(), configuration(t), a2aserve.Options{Unwired: []string{"SendMesage"}}); err == nil || !strings.Contains(err.Error(), `"SendMesage" is no operation`) {
		t.Errorf("got %v", err)
	}
	if _, err := a2aserve.NewFromFile(t.Context(), filepath.Join(t.TempDir(), "none.yaml"), a2aserve.Options{}); err == nil {
		t.Error("a missing file is accepted")
	}
}

// TestConfigurationOfAHost: a host that keeps the configuration hands it over as text.
func TestConfigurationOfAHost(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	o := a2aserve.Options{Driver: a2aserve.OnBus(agent(log), a2aserve.Agent{SessionID: "s"}), Log: log}
	text := `{"bind": "127.0.0.1:0", "store": {"path": "` + filepath.ToSlash(filepath.Join(t.TempDir(), "h.db")) + `"},
		"card": {"name": "Hosted", "description": "d", "version": "1", "skills": [{"id": "a", "name": "a", "description": "a"}]}}`
	s, err := a2aserve.NewFromYAML(t.Context(), "the host's block", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, err = a2aserve.NewFromYAML(t.Context(), "the host's block", []byte(`{"bnd": ""}`), o)
	if err == nil || !strings.Contains(err.Error(), "the host's block:1:2: bnd") {
		t.Errorf("got %v", err)
	}
}
