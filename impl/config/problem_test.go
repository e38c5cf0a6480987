package config_test

import (
	"errors"
	"strings"
	"testing"

	"a2aserve/impl/config"
)

// Each case is added to a valid file of six lines, so that its own first line is the seventh.
var mistakes = []struct{ name, text, want string }{
	{"unknown key", "publicurl: x", "f.yaml:7:1: publicurl: unknown key; did you mean public_url?"},
	{"unknown key, case", "cardFile: x", "f.yaml:7:1: cardFile: unknown key; did you mean card_file?"},
	{"unknown key, letters swapped", "tasks: {tlt: 1h}", "f.yaml:7:9: tasks.tlt: unknown key; did you mean ttl?"},
	{"key of a section at the top", "max_per_context: 5", "f.yaml:7:1: max_per_context: unknown key; it belongs at tasks.max_per_context"},
	{"unknown key without a neighbour", "log: {colourful: yes}", "f.yaml:7:7: log.colourful: unknown key; known here: format, level"},
	{"duplicate key", "bind: 127.0.0.1:1\nbind: 127.0.0.1:2", "f.yaml:8:1: bind: the key stands twice, first in line 7"},
	{"duplicate key in a section", "tasks:\n  ttl: 1h\n  ttl: 2h", "f.yaml:9:3: tasks.ttl: the key stands twice, first in line 8"},
	{"bare number as duration", "tasks:\n  ttl: 15", `f.yaml:8:3: tasks.ttl: expected a duration with its unit in quotes, such as "15m" ("0s" switches it off), found the number 15`},
	{"negative duration", "tasks: {ttl: -5m}", `f.yaml:7:9: tasks.ttl: expected a duration with its unit in quotes, such as "15m" ("0s" switches it off), found "-5m"`},
	{"endless duration", "tasks: {ttl: 99999999999999h}", `f.yaml:7:9: tasks.ttl: expected a duration with its unit in quotes, such as "15m" ("0s" switches it off), found "99999999999999h"`},
	{"no duration where one is needed", "limits: {keep_alive: 0s}", `f.yaml:7:10: limits.keep_alive: expected a duration above zero with its unit, such as "30s", found "0s"`},
	{"negative number", "tasks: {max_per_context: -1}", "f.yaml:7:9: tasks.max_per_context: expected a whole number from 0 to 1000000, found the number -1"},
	{"fraction", "tasks: {max_per_context: 1.5}", "f.yaml:7:9: tasks.max_per_context: expected a whole number from 0 to 1000000, found the number 1.5"},
	{"text for a number", "limits: {max_depth: deep}", `f.yaml:7:10: limits.max_depth: expected a whole number from 16 to 5000, found "deep"`},
	{"text for a switch", "strict_version_header: yes", `f.yaml:7:1: strict_version_header: expected true or false, found "yes"`},
	{"number for text", "card_requires_auth: 1", "f.yaml:7:1: card_requires_auth: expected true or false, found the number 1"},
	{"section as a value", "store: x.db", `f.yaml:7:1: store: expected a section with keys such as max_bytes, path, synchronous, found "x.db"`},
	{"no value", "bind:", `f.yaml:7:1: bind: expected an address to listen on, such as "127.0.0.1:8091", found nothing`},
	{"no token", "bearer_token:", "f.yaml:7:1: bearer_token: expected a token of visible ASCII characters without spaces, found nothing"},
	{"token not shown", "bearer_token: my secret", "f.yaml:7:1: bearer_token: expected a token of visible ASCII characters without spaces, found other text (not shown)"},
	{"number as token", "bearer_token: 12345", "f.yaml:7:1: bearer_token: expected a token of visible ASCII characters without spaces, found a number (put it in quotes)"},
	{"choice", "store: {synchronous: OFF}", `f.yaml:7:9: store.synchronous: expected one of "FULL", "NORMAL", found "OFF"`},
	{"validator", "auth: {validators: [{type: saml}]}", `f.yaml:7:22: auth.validators[0].type: expected one of "static", "jwks", "introspect", "proxy_headers", found "saml"`},
	{"no validators", "auth: {validators: []}", "f.yaml:7:8: auth.validators: expected a list of at least 1, found a list of 0"},
	{"no principal", "auth: {validators: [{type: static, tokens: [{token: x}]}]}", "f.yaml:7:45: auth.validators[0].tokens[0].principal: required, but missing. Id of the caller. Tasks belong to it, so it should stay the same. 1 to 256 characters, no control characters."},
	{"two sources of a token", "auth: {validators: [{type: static, tokens: [{token: x, token_env: X, principal: p}]}]}", "f.yaml:7:45: auth.validators[0].tokens[0]: expected exactly one of token, token_env, token_file, found token and token_env"},
	{"no source of a token", "auth: {validators: [{type: static, tokens: [{principal: p}]}]}", "f.yaml:7:45: auth.validators[0].tokens[0]: expected exactly one of token, token_env, token_file, found none"},
	{"the same token twice", "auth: {validators: [{type: static, tokens: [{token: x, principal: p}, {token: x, principal: q}]}]}", "f.yaml:7:72: auth.validators[0].tokens[1].token: is the same token as auth.validators[0].tokens[0].token: each must differ"},
	{"unset variable", "bearer_token_env: A2ASERVE_TEST_UNSET", "f.yaml:7:1: bearer_token_env: the environment variable A2ASERVE_TEST_UNSET is not set"},
	{"empty variable", "bearer_token_env: A2ASERVE_TEST_EMPTY", "f.yaml:7:1: bearer_token_env: the environment variable A2ASERVE_TEST_EMPTY is empty"},
	{"variable with a space", "bearer_token_env: A2ASERVE_TEST_SPACE", "f.yaml:7:1: bearer_token_env: the environment variable A2ASERVE_TEST_SPACE holds other than visible ASCII characters without spaces"},
	{"token and auth", "bearer_token: x\nauth: {validators: [{type: static, tokens: [{token: y, principal: p}]}]}", "f.yaml:8:1: auth: bearer_token and auth exclude each other: keep one of them"},
	{"card and card_file", "card_file: card.json", "f.yaml:7:1: card_file: card and card_file exclude each other: keep one of them"},
	{"private card without authentication", "card_requires_auth: true", "f.yaml:7:1: card_requires_auth: needs bearer_token, bearer_token_env, auth or tls.client_ca_file: without one, every caller is let through"},
	{"relative path", "jsonrpc_path: a2a", `f.yaml:7:1: jsonrpc_path: expected an absolute path without a slash at its end, such as "/a2a", found "a2a"`},
	{"same paths", "rest_prefix: /a2a", `f.yaml:7:1: rest_prefix: must differ from jsonrpc_path, but both are "/a2a"`},
	{"path in a path", "rest_prefix: /x\njsonrpc_path: /x/rpc", `f.yaml:8:1: jsonrpc_path: must not lie below rest_prefix, whose routes are there: "/x/rpc" is below "/x"`},
	{"path of the card", "jsonrpc_path: /.well-known/agent-card.json", "f.yaml:7:1: jsonrpc_path: must leave /.well-known/agent-card.json to the Agent Card"},
	{"every interface", "bind: 0.0.0.0:80", `f.yaml:7:1: bind: "0.0.0.0:80" listens on every interface, which is no address for the Agent Card: set public_url to the one that clients use, name the proxies that know it in proxy.trusted_cidrs, or listen on one interface`},
	{"range without a length", "proxy: {trusted_cidrs: [10.0.0.1]}", `f.yaml:7:25: proxy.trusted_cidrs[0]: expected an address range, such as "10.0.0.0/8" or "fd00::/8", found "10.0.0.1"`},
	{"range beyond its length", "proxy: {trusted_cidrs: [10.0.0.0/8, 10.0.0.1/8]}", `f.yaml:7:37: proxy.trusted_cidrs[1]: expected an address range, such as "10.0.0.0/8" or "fd00::/8", found "10.0.0.1/8"`},
	{"mapped range", "proxy: {trusted_cidrs: [\"::ffff:10.0.0.0/104\"]}", `f.yaml:7:25: proxy.trusted_cidrs[0]: expected an address range, such as "10.0.0.0/8" or "fd00::/8", found "::ffff:10.0.0.0/104"`},
	{"every interface and nobody who knows better", "bind: \"[::]:80\"\nproxy: {trusted_cidrs: []}", `f.yaml:7:1: bind: "[::]:80" listens on every interface, which is no address for the Agent Card: set public_url to the one that clients use, name the proxies that know it in proxy.trusted_cidrs, or listen on one interface`},
	{"extended card without authentication", "extended_card_file: x.json", "f.yaml:7:1: extended_card_file: needs bearer_token, bearer_token_env, auth or tls.client_ca_file: the extended card is for authenticated callers only"},
	{"no port", "bind: localhost", `f.yaml:7:1: bind: expected an address to listen on, such as "127.0.0.1:8091", found "localhost"`},
	{"public_url", "public_url: agent.example.com", `f.yaml:7:1: public_url: expected an absolute http or https URL, such as "https://agent.example.com", found "agent.example.com"`},
	{"public_url with a query", "public_url: https://agent.example.com/?a=b", `f.yaml:7:1: public_url: expected an address without user, query and fragment, such as "https://agent.example.com"`},
	{"public_url of nowhere", "public_url: http://0.0.0.0:80", `f.yaml:7:1: public_url: "http://0.0.0.0:80" is no address that a client can reach`},
	{"syntax", "tasks: {ttl: 1h", "f.yaml:7:8: not valid YAML: could not find flow mapping end token '}'"},
	{"merge key", "tasks: &t {ttl: 1h}\nstore: {<<: *t}", "f.yaml:8:9: store: merge keys (<<) are not read: write the keys out"},
	{"two documents", "---\nbind: x", "f.yaml:8:5: a second YAML document: one is expected"},
	{"tag", "bind: !secret x", "f.yaml:7:1: bind: the YAML tag !secret is not read here"},
	{"anchor", "bind: *nowhere", "f.yaml:7:1: bind: no anchor &nowhere in this file"},
}

func TestMistakes(t *testing.T) {
	t.Setenv("A2ASERVE_TEST_EMPTY", "")
	t.Setenv("A2ASERVE_TEST_SPACE", "a b")
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			_, err := config.Parse("f.yaml", []byte(valid+m.text+"\n"))
			if err == nil {
				t.Fatal("accepted")
			}
			if _, ok := errors.AsType[config.Errors](err); !ok {
				t.Errorf("got a %T", err)
			}
			if err.Error() != m.want {
				t.Errorf("got\n%v\nwant\n%s", err, m.want)
			}
		})
	}
}

func TestAllMistakesAtOnceInFileOrder(t *testing.T) {
	_, err := config.Parse("f.yaml", []byte(`bind: 1
bindd: x
tasks:
  ttl: 5
  max_per_contxt: 1
limits: {max_depth: 1}
card:
  name: x
  version: 1.0
  skills:
    - {id: a, name: A, description: A}
    - {id: a, name: B}
bearer_token_env: A2ASERVE_TEST_UNSET
`))
	if err == nil {
		t.Fatal("accepted")
	}
	var got []string
	for line := range strings.Lines(err.Error()) {
		parts := strings.SplitN(line, ": ", 3)
		got = append(got, parts[0]+" "+parts[1])
	}
	want := []string{
		"f.yaml:1:1 agent.driver", "f.yaml:1:1 bind", "f.yaml:2:1 bindd", "f.yaml:4:3 tasks.ttl", "f.yaml:5:3 tasks.max_per_contxt",
		"f.yaml:6:10 limits.max_depth", "f.yaml:7:1 card.description", "f.yaml:9:3 card.version", "f.yaml:12:7 card.skills[1].description",
		"f.yaml:12:8 card.skills[1].id", "f.yaml:13:1 bearer_token_env",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s\n\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), err)
	}
}

func TestEmptyFileNamesTheChoices(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "{}\n"} {
		_, err := config.Parse("f.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), `f.yaml:1:1: agent.driver: required, but missing.`) || !strings.Contains(err.Error(), `Allowed: "demo"`) || !strings.Contains(err.Error(), "f.yaml:1:1: card: required") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	for _, text := range []string{"hello", "[1, 2]", "5"} {
		_, err := config.Parse("f.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:1:1: expected a section") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// Aliases are followed, but may not unfold without end.
func TestAliases(t *testing.T) {
	c := parse(t, valid+"tasks: {ttl: &span 2h, input_timeout: *span}\n")
	if c.Tasks.InputTimeout != "2h" {
		t.Errorf("got %s", c.Tasks.InputTimeout)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for k := 'b'; k < 'j'; k++ {
		prev := string(k - 1)
		bomb += string(k) + ": &" + string(k) + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+",", 9), ",") + "]\n"
	}
	if _, err := config.Parse("f.yaml", []byte(bomb)); err == nil || !strings.Contains(err.Error(), "too large or too deeply nested") {
		t.Errorf("got %.300v", err)
	}
	if _, err := config.Parse("f.yaml", []byte("bind: &b [*b]\n")); err == nil || !strings.Contains(err.Error(), "too large or too deeply nested") {
		t.Errorf("got %.300v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(valid)
	for _, m := range mistakes {
		f.Add(valid + m.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("f.yaml", []byte(text))
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Fatal("an error without a word")
		}
	})
}
