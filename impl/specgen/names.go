package specgen

import (
	"strings"
	"unicode"
)

// initialisms are the words that Go spells in its own way. They are not left to
// oapi-codegen, which knows neither OAuth nor the plural of ID.
var initialisms = map[string]string{
	"agui": "AGUI", "api": "API", "ca": "CA", "cidrs": "CIDRs", "cors": "CORS", "grpc": "GRPC", "hitl": "HITL", "hsts": "HSTS", "http": "HTTP", "id": "ID", "ids": "IDs",
	"json": "JSON", "jsonrpc": "JSONRPC", "jwks": "JWKS", "jwt": "JWT", "llm": "LLM", "mtls": "MTLS",
	"oauth": "OAuth", "oauth2": "OAuth2", "pkce": "PKCE", "rest": "REST", "tls": "TLS", "ttl": "TTL",
	"uri": "URI", "url": "URL", "urls": "URLs",
}

// goName spells a camelCase, PascalCase, snake_case or kebab-case name as an exported Go name.
func goName(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		if s, ok := initialisms[strings.ToLower(w)]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// words splits at separators and before each capital that begins a word: a run of
// capitals ("HTTP" in "HTTPAuth") is one word, and "OAuth" stays whole.
func words(name string) []string {
	name = strings.ReplaceAll(name, "OAuth", "Oauth")
	var out []string
	r := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, string(r[start:end]))
		}
	}
	for i, c := range r {
		switch {
		case c == '_' || c == '-' || c == '.':
			cut(i)
			start = i + 1
		case i > start && unicode.IsUpper(c) &&
			(!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])):
			cut(i)
			start = i
		}
	}
	cut(len(r))
	return out
}

// enumConst names the constant of an enum value: the enum's name, then the value
// without the prefix that protobuf style repeats.
func enumConst(enum, value string) string {
	upper := strings.ToUpper(strings.Join(words(enum), "_")) + "_"
	return goName(enum) + goName(strings.ToLower(strings.TrimPrefix(value, upper)))
}
