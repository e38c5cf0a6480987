package validate

import (
	"encoding/base64"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"a2aserve/impl/decode"

	"github.com/go-json-experiment/json/jsontext"
)

// scalar holds a value that is neither object nor array against n.
func (w *walker) scalar(n *node, t jsontext.Token, at int, section string) {
	switch k := t.Kind(); {
	case k == '"' && n.kind == kindString:
		w.str(n, t.String(), at, section)
	case k == '"' && n.kind == kindEnum:
		w.enumName(n, t.String(), at)
	case k == '0' && n.kind == kindEnum:
		w.enumNumber(n, t.String(), at)
	case k == '"' && n.kind == kindBytes:
		w.bytes(t.String(), at, section)
	case k == '"' && n.kind == kindTime:
		w.time(t.String(), at)
	case (k == '0' || k == '"') && n.kind == kindInt:
		w.integer(n, t, at, section)
	case (k == 't' || k == 'f') && n.kind == kindBool:
	case n.kind == kindID && (k == '"' || k == 'n'):
	case n.kind == kindID && k == '0':
		if _, ok := whole(t.String()); !ok || strings.ContainsAny(t.String(), ".eE") {
			w.fail("rpc.id", at, "", "%s", wanted[kindID])
		}
	default:
		w.mismatch(n, k, at, section)
	}
}

func (w *walker) str(n *node, s string, at int, section string) {
	switch {
	case s == "" && n.nonEmpty:
		w.fail("empty", at, "", "a string that is not empty")
	case n.pattern != nil && !n.pattern.MatchString(s):
		w.fail("pattern", at, section, "%s", alternatives(n.pattern))
	}
}

// alternatives says a pattern such as ^(a|b)$ in words.
func alternatives(p *regexp.Regexp) string {
	list, ok := strings.CutPrefix(p.String(), "^(")
	list, closed := strings.CutSuffix(list, ")$")
	if !ok || !closed || strings.ContainsAny(list, `\[](){}*+?.`) {
		return "a match of " + p.String()
	}
	return "one of " + strings.ReplaceAll(list, "|", ", ")
}

func (w *walker) enumName(n *node, s string, at int) {
	switch {
	case slices.Contains(n.enum, s):
	case s == n.prefix()+"UNSPECIFIED":
		w.fail("enum.unspecified", at, n.section(), "one of %s", strings.Join(n.enum, ", "))
	default:
		w.report(problem{rule: "enum", offset: at, pointer: string(w.path), section: n.section(),
			expected: "one of " + strings.Join(n.enum, ", "), hint: enumHint(n.enum, s)})
	}
}

// prefix is what the names of an enum begin with, the enum's own name.
func (n *node) prefix() string {
	p := n.enum[0]
	for _, name := range n.enum {
		for !strings.HasPrefix(name, p) {
			p = p[:len(p)-1]
		}
	}
	return p
}

// enumNumber takes a number, as ProtoJSON's readers do.
func (w *walker) enumNumber(n *node, s string, at int) {
	i, ok := whole(s)
	known := slices.Index(n.numbers, i)
	switch {
	case !ok:
		w.mismatch(n, '0', at, n.section())
	case i == 0:
		w.fail("enum.unspecified", at, n.section(), "one of %s", strings.Join(n.enum, ", "))
	case known < 0:
		w.fail("enum.undefined", at, n.section(), "one of %s", strings.Join(n.enum, ", "))
	default:
		w.fail("enum.number", at, "", "%q", n.enum[known])
	}
}

// integer takes 5, 5.0 and "5". All integers of the protocol have 32 bits.
func (w *walker) integer(n *node, t jsontext.Token, at int, section string) {
	i, ok := whole(t.String())
	switch {
	case !ok:
		w.mismatch(n, t.Kind(), at, section)
	case float64(i) < n.min:
		w.fail("range", at, section, "at least %s", strconv.FormatFloat(n.min, 'f', -1, 64))
	case float64(i) > n.max:
		w.fail("range", at, section, "at most %s", strconv.FormatFloat(n.max, 'f', -1, 64))
	case t.Kind() == '"' || strings.ContainsAny(t.String(), ".eE"):
		w.fail("integer.form", at, "", "the number %d", i)
	}
}

// whole reads a JSON number that is an integer of 32 bits, however it is written.
func whole(s string) (int64, bool) {
	if !jsontext.Value(s).IsValid() || strings.Trim(s, "0123456789-+.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		return 0, false
	}
	return int64(f), true
}

// beyond reports whether a JSON number does not fit into a double.
func beyond(number string) bool {
	if len(number) <= 308 && !strings.ContainsAny(number, "eE") {
		return false
	}
	_, err := strconv.ParseFloat(number, 64)
	return err != nil
}

// anyBeyond looks for such a number in a JSON value, much faster than by reading its tokens.
func anyBeyond(v []byte) bool {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			for i++; v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		case '0' <= c && c <= '9':
			from := i
			for i < len(v) && strings.IndexByte("0123456789+-.eE", v[i]) >= 0 {
				i++
			}
			if beyond(string(v[from:i])) {
				return true
			}
		}
	}
	return false
}

func (w *walker) bytes(s string, at int, section string) {
	_, err := base64.StdEncoding.DecodeString(s)
	if err == nil && !strings.ContainsAny(s, "\r\n") { // which the decoder skips
		return
	}
	if _, err = decode.Base64(s); err != nil {
		w.fail("base64", at, section, "base64")
		return
	}
	w.fail("base64.form", at, "", "base64 with + and /, padding, and no line breaks")
}

// timestamp is what the specification allows of ISO 8601 (A2A §5.6.1).
var timestamp = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$`)

// errYear is for times before those of google.protobuf.Timestamp.
var errYear = errors.New("before the year 1")

func (w *walker) time(s string, at int) {
	p := problem{rule: "timestamp", offset: at, pointer: string(w.path), expected: "a time such as 2026-01-02T03:04:05.678Z"}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err == nil && t.UTC().Year() < 1 {
		err = errYear
	}
	switch {
	case err == nil && timestamp.MatchString(s) && strings.HasSuffix(s, "Z"):
		return
	case err == nil && timestamp.MatchString(s):
		p.rule, p.expected = "timestamp.offset", "a time in UTC that ends in Z"
		p.hint = "write " + t.UTC().Format("2006-01-02T15:04:05.000Z")
	default:
		p.hint = timeHint(s)
	}
	w.report(p)
}
