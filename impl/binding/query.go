package binding

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"a2aserve/gen/a2a"
	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json/jsontext"
)

// readQuery writes a query as the JSON object that the schema describes (A2A §11.5), so
// that one validation sees all of it. An empty value counts as absent; names that the
// definition does not have are ignored. No query is no document.
func readQuery(def, raw string) ([]byte, []a2a.Violation) {
	if raw == "" {
		return nil, nil
	}
	var bad []a2a.Violation
	values, err := url.ParseQuery(raw)
	if err != nil {
		bad = append(bad, a2a.Violation{Description: "the query is not well formed"})
	}
	doc := []byte{'{'}
	seen := map[string]bool{}
	// Sorted, so that of two spellings of a name always the same one is the second.
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, kind := decode.Parameter(def, key)
		if kind == decode.None {
			continue
		}
		if len(values[key]) > 1 || seen[name] {
			bad = append(bad, a2a.Violation{Field: name, Description: "is set twice"})
			continue
		}
		seen[name] = true
		value := values[key][0]
		if value == "" {
			continue
		}
		text, problem := queryValue(kind, value)
		if problem != "" {
			bad = append(bad, a2a.Violation{Field: name, Description: problem})
			continue
		}
		if len(doc) > 1 {
			doc = append(doc, ',')
		}
		doc = append(append(append(doc, '"'), name...), `":`...)
		doc = append(doc, text...)
	}
	return append(doc, '}'), bad
}

// queryValue writes one value as JSON. It takes only the spellings of A2A §11.5: a client
// that sends TRUE or 1.5 has made a mistake, and a guess would hide it.
func queryValue(kind decode.Kind, s string) (text []byte, problem string) {
	switch kind {
	case decode.Integer:
		n, err := strconv.ParseInt(s, 10, 64)
		// A number beyond 64 bits is read as the largest: the schema's bounds refuse it.
		if s[0] == '+' || err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, "must be a whole number"
		}
		return strconv.AppendInt(nil, n, 10), ""
	case decode.Boolean:
		if s != "true" && s != "false" {
			return nil, "must be true or false"
		}
		return []byte(s), ""
	}
	text, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return nil, "must be UTF-8"
	}
	return text, ""
}
