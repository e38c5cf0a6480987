package config

import (
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// cardPath is where the Agent Card is served (A2A §8.2); no binding may be there.
const cardPath = "/.well-known/agent-card.json"

// checkRules notes what concerns more than one key. Values of the wrong type count as
// absent: the schema has reported them.
func (d *document) checkRules() {
	if _, ok := d.root.(map[string]any); !ok {
		return
	}
	d.onlyOne("card", "card_file")
	if !d.has("/card") && !d.has("/card_file") {
		d.problem("/card", "required, but missing: the Agent Card is written here, or card_file names one")
	}
	d.onlyOne("bearer_token", "bearer_token_env", "auth")
	if d.root.(map[string]any)["card_requires_auth"] == true && !d.authenticates() {
		d.problem("/card_requires_auth", "needs bearer_token, bearer_token_env, auth or tls.client_ca_file: without one, every caller is let through")
	}
	d.checkPaths()
	d.checkAddress()
	d.checkAdmin()
	d.checkProxy()
	d.checkSkills()
	d.checkChild()
	d.checkValidators()
	d.checkEdge()
}

// has is about what was written: none of the keys that it is asked for has a default.
func (d *document) has(ptr string) bool { return lookup(d.root, ptr) != nil }

func (d *document) text(ptr string) string {
	s, _ := lookup(d.root, ptr).(string)
	return s
}

// onlyOne notes keys that exclude each other, at the later ones.
func (d *document) onlyOne(keys ...string) {
	var set []string
	for _, k := range keys {
		if d.has("/" + k) {
			set = append(set, k)
		}
	}
	for _, k := range set[min(1, len(set)):] {
		d.problem("/"+k, "%s and %s exclude each other: keep one of them", set[0], k)
	}
}

// checkPaths keeps the routes apart. JSON-RPC has one path, so it may lie above the REST
// prefix, as the defaults do, but not among the REST routes.
func (d *document) checkPaths() {
	rpc, rest := d.text("/jsonrpc_path"), d.text("/rest_prefix")
	switch {
	case rpc == "" || rest == "":
	case rpc == rest:
		d.problem("/rest_prefix", "must differ from jsonrpc_path, but both are %q", rest)
	case strings.HasPrefix(rpc, rest+"/"):
		d.problem("/jsonrpc_path", "must not lie below rest_prefix, whose routes are there: %q is below %q", rpc, rest)
	}
	for ptr, path := range map[string]string{"/jsonrpc_path": rpc, "/rest_prefix": rest} {
		if path == cardPath || strings.HasPrefix(cardPath, path+"/") && ptr == "/rest_prefix" {
			d.problem(ptr, "must leave %s to the Agent Card", cardPath)
		}
	}
}

// checkAddress makes sure that the card can name an address (decision 33): what is
// listened on is no address when it stands for every interface.
func (d *document) checkAddress() {
	public := d.text("/public_url")
	if bind := d.text("/bind"); public == "" && isHostPort(bind) && Wildcard(bind) && !d.behindProxies() {
		d.problem("/bind", "%q listens on every interface, which is no address for the Agent Card: set public_url to the one that clients use, name the proxies that know it in proxy.trusted_cidrs, or listen on one interface", bind)
	}
	u, err := url.Parse(public)
	if public == "" || err != nil || !isWebAddress(public) {
		return
	}
	switch {
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.problem("/public_url", "expected an address without user, query and fragment, such as \"https://agent.example.com\"")
	case Wildcard(u.Hostname()+":1") || strings.HasPrefix(u.Host, "[::]") || u.Port() == "0":
		d.problem("/public_url", "%q is no address that a client can reach", public)
	}
}

// checkSkills: clients tell skills by their ids.
func (d *document) checkSkills() {
	skills, _ := lookup(d.root, "/card/skills").([]any)
	first := map[string]int{}
	for i := range skills {
		ptr := "/card/skills/" + strconv.Itoa(i) + "/id"
		id := d.text(ptr)
		if id == "" {
			continue
		}
		if j, twice := first[id]; twice {
			d.problem(ptr, "must be unique, but %q is also the id of card.skills[%d]", id, j)
			continue
		}
		first[id] = i
	}
}

// checkChild makes sure that there is a command to run, and that its arguments can be
// handed over.
func (d *document) checkChild() {
	if d.text("/agent/driver") == "child" && !d.has("/agent/child") {
		d.problem("/agent/child/command", "required with driver child, but missing: the program to run")
	}
	nul := func(ptr string) {
		if strings.ContainsRune(d.text(ptr), 0) {
			d.problem(ptr, "holds a NUL character, which no program can be given")
		}
	}
	nul("/agent/child/command")
	args, _ := lookup(d.root, "/agent/child/args").([]any)
	for i := range args {
		nul("/agent/child/args/" + strconv.Itoa(i))
	}
	env, _ := lookup(d.root, "/agent/child/env").(map[string]any)
	for name := range env {
		nul("/agent/child/env/" + escape(name))
	}
}

// fromEnv tells an unset variable from an empty one: they are mended in different places.
func (d *document) fromEnv(ptr string) string {
	name := d.text(ptr)
	if name == "" {
		return ""
	}
	v, ok := os.LookupEnv(name)
	if !ok {
		d.problem(ptr, "the environment variable %s is not set", name)
		return ""
	}
	return d.checkToken(ptr, "environment variable "+name, v)
}

var tokenText = regexp.MustCompile(`^[!-~]+$`)

// checkToken holds what was fetched to the rules of a token in the file.
func (d *document) checkToken(ptr, source, token string) string {
	switch {
	case token == "":
		d.problem(ptr, "the %s is empty", source)
		return ""
	case !tokenText.MatchString(token):
		d.problem(ptr, "the %s holds other than visible ASCII characters without spaces", source)
		return ""
	}
	return token
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
