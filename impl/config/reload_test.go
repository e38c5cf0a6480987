package config_test

import (
	"strings"
	"testing"

	"a2aserve/impl/config"
)

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte("agent: {driver: demo}\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const first = `card: {name: A, description: A, version: "1", skills: [{id: a, name: A, description: A}]}
bearer_token: one
store: {path: first.db}
limits: {max_depth: 32, idle_timeout: 1m}
`

// What a running server cannot take over stays, and is named; the rest is the new one's.
func TestRenew(t *testing.T) {
	old := parsed(t, first)
	next := parsed(t, `card: {name: B, description: B, version: "2", skills: [{id: b, name: B, description: B}]}
bearer_token: two
bind: 127.0.0.1:9
limits: {max_depth: 64, idle_timeout: 3m}
artifacts: {file_base_dir: /srv}
log: {level: error}
`)
	got, kept, err := old.Renew(next)
	if err != nil {
		t.Fatal(err)
	}
	if want := "artifacts.file_base_dir bind limits.idle_timeout log.level store.path"; strings.Join(kept, " ") != want {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if got.Card.Name != "B" || got.Limits.MaxDepth != 64 || got.Validators[0].Identities[0].Token.Reveal() != "two" {
		t.Errorf("not taken over: %v", got)
	}
	if got.Bind != old.Bind || got.Store.Path != "first.db" || got.Limits.IdleTimeout != "1m" || got.Artifacts.FileBaseDir != "" {
		t.Errorf("not kept: %v", got)
	}
	if _, kept, err := old.Renew(parsed(t, first)); err != nil || len(kept) > 0 {
		t.Errorf("the same configuration: %v %v", kept, err)
	}
}

// The card may move from the file into a file of its own and back.
func TestRenewSource(t *testing.T) {
	old := parsed(t, first)
	file := parsed(t, "card_file: card.json\n")
	got, kept, err := old.Renew(file)
	if err != nil || got.Card != nil || got.CardFile != "card.json" {
		t.Errorf("to a file: %v %v %v", got, kept, err)
	}
	if strings.Join(got.Files, " ") != "card.json" {
		t.Errorf("files: %q", got.Files)
	}
	if got, _, err = file.Renew(old); err != nil || got.Card == nil || got.CardFile != "" {
		t.Errorf("back: %v %v", got, err)
	}
}
