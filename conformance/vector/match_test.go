package vector

import (
	"strings"
	"testing"
)

// The oracle is tested too: a matcher that accepts anything proves nothing.
func TestMatch(t *testing.T) {
	for _, c := range []struct{ pattern, got, want string }{
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1}`, `{"a":1.0}`, "$.a: want 1, got 1.0"},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, "$.a"},
		{`{"a":1,"$only":true}`, `{"a":1,"b":2}`, "$.b: nobody expects it"},
		{`{"a":"$absent"}`, `{"a":null}`, "$.a: must be absent"},
		{`{"a":"$absent"}`, `{}`, ""},
		{`{"a":null}`, `{"a":null}`, ""},
		{`{"a":null}`, `{}`, "$.a: absent"},
		{`["x"]`, `["x","y"]`, "want 1 elements"},
		{`["x","$more"]`, `["x","y"]`, ""},
		{`["x","$more"]`, `[]`, "want 1 elements"},
		{`["$some",{"k":2}]`, `[{"k":1},{"k":2}]`, ""},
		{`["$some",{"k":3}]`, `[{"k":1},{"k":2}]`, "no element matches"},
		{`"$string"`, `""`, "want $string"},
		{`"$timestamp"`, `"2026-01-02T03:04:05.678Z"`, ""},
		{`"$timestamp"`, `"2026-01-02T03:04:05Z"`, "want $timestamp"},
		{`"$timestamp"`, `"2026-01-02T03:04:05.678+00:00"`, "want $timestamp"},
		{`["$bind x","$bind x"]`, `["a","a"]`, ""},
		{`["$bind x","$bind x"]`, `["a","b"]`, "$[1]"},
		{`"$has b c"`, `"a b c"`, ""},
		{`"$re ^a+$"`, `"aab"`, "$re"},
		{`"${never}"`, `""`, "never captured"},
		{`{"a":1}`, `[]`, "want an object"},
		{`{"a":1}`, `nonsense`, "not JSON"},
		{`{"a":1}`, `{"a":1,"a":1}`, "not JSON"},
	} {
		err := Match(c.pattern, []byte(c.got), Vars{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s on %s: %v", c.pattern, c.got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s on %s: got error %v, want one with %q", c.pattern, c.got, err, c.want)
		}
	}
}

func TestParseRefusesVectorsThatCannotFail(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"Prose.\n-- call GetTask --\n{}\n", "expects nothing"},
		{"-- call GetTask --\n{}\n-- want --\n{}\n", "says nothing"},
		{"Prose.\n-- call FlyToMoon --\n{}\n-- want --\n{}\n", "no such operation"},
		{"Prose.\n-- want --\n{}\n", "nothing was sent"},
		{"Prose.\n-- http GET --\n\n-- want --\n{}\n", "VERB PATH"},
		{"Prose.\n-- shout --\n", "unknown kind"},
	} {
		if _, err := Parse("x", []byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got error %v, want one with %q", c.in, err, c.want)
		}
	}
}
