package vector

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// Vars are what patterns captured.
type Vars map[string]string

// Expand replaces ${name} by what was captured.
func (v Vars) Expand(s string) (string, error) {
	var missing error
	out := regexp.MustCompile(`\$\{(\w+)\}`).ReplaceAllStringFunc(s, func(m string) string {
		x, ok := v[m[2:len(m)-1]]
		if !ok {
			missing = fmt.Errorf("%s was never captured", m)
		}
		return x
	})
	return out, missing
}

// Match reports how the JSON value got differs from the pattern, or nil.
//
// An object matches when each member of the pattern does; members that the pattern
// does not name are ignored, unless it has the member "$only". An array matches
// element by element; a last element "$more" lets any others follow, and a first
// element "$some" makes the others match in any order and place. These strings match
// by rule: $any, $string (not empty), $number, $timestamp, $empty, $absent (in an
// object), "$bind NAME" (captures, or compares with what was captured), "$has TEXT",
// "$re EXPR".
func Match(pattern string, got []byte, vars Vars) error {
	pattern, err := vars.Expand(pattern)
	if err != nil {
		return err
	}
	p, err := parse([]byte(pattern))
	if err != nil {
		return fmt.Errorf("the pattern is not JSON: %w", err)
	}
	g, err := parse(got)
	if err != nil {
		return fmt.Errorf("not JSON (%v): %.200s", err, got)
	}
	return match("$", p, g, vars)
}

// number keeps a number's text, so that 7 and 7.0 differ and 2^53+1 survives.
type number string

func parse(b []byte) (any, error) {
	var v any
	err := json.Unmarshal(b, &v, json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
		if d.PeekKind() == '0' {
			t, err := d.ReadToken()
			*v = number(t.String())
			return err
		}
		return errors.ErrUnsupported
	})))
	return v, err
}

func match(at string, p, g any, vars Vars) error {
	switch p := p.(type) {
	case string:
		return matchString(at, p, g, vars)
	case map[string]any:
		return matchObject(at, p, g, vars)
	case []any:
		return matchArray(at, p, g, vars)
	}
	if !reflect.DeepEqual(p, g) {
		return fmt.Errorf("%s: want %v, got %v", at, p, g)
	}
	return nil
}

func matchString(at, p string, g any, vars Vars) error {
	rule, arg, _ := strings.Cut(p, " ")
	s, isString := g.(string)
	ok := false
	switch rule {
	case "$any":
		ok = true
	case "$string":
		ok = isString && s != ""
	case "$number":
		_, ok = g.(number)
	case "$timestamp":
		ok = isString && timestamp.MatchString(s)
	case "$empty":
		ok = reflect.DeepEqual(g, []any{}) || isString && s == ""
	case "$has":
		ok = isString && strings.Contains(s, arg)
	case "$re":
		ok = isString && regexp.MustCompile(arg).MatchString(s)
	case "$bind":
		if old, bound := vars[arg]; bound {
			ok = isString && s == old
		} else if ok = isString && s != ""; ok {
			vars[arg] = s
		}
	default:
		ok = isString && s == p
	}
	if !ok {
		return fmt.Errorf("%s: want %s, got %.300v", at, p, g)
	}
	return nil
}

func matchObject(at string, p map[string]any, g any, vars Vars) error {
	m, ok := g.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: want an object, got %.300v", at, g)
	}
	for k, x := range p {
		v, there := m[k]
		switch {
		case k == "$only":
			continue
		case x == "$absent":
			if there {
				return fmt.Errorf("%s.%s: must be absent, is %.300v", at, k, v)
			}
			continue
		case !there:
			return fmt.Errorf("%s.%s: absent; the object is %.300v", at, k, m)
		}
		if err := match(at+"."+k, x, v, vars); err != nil {
			return err
		}
	}
	if _, only := p["$only"]; only {
		for k := range m {
			if _, known := p[k]; !known {
				return fmt.Errorf("%s.%s: nobody expects it", at, k)
			}
		}
	}
	return nil
}

func matchArray(at string, p []any, g any, vars Vars) error {
	l, ok := g.([]any)
	if !ok {
		return fmt.Errorf("%s: want an array, got %.300v", at, g)
	}
	if len(p) > 0 && p[0] == "$some" {
		for _, x := range p[1:] {
			err := fmt.Errorf("%s: is empty", at)
			for i, v := range l {
				if err = match(at+"["+strconv.Itoa(i)+"]", x, v, vars); err == nil {
					break
				}
			}
			if err != nil {
				return fmt.Errorf("%s: no element matches %v: %w", at, x, err)
			}
		}
		return nil
	}
	if n := len(p); n > 0 && p[n-1] == "$more" {
		p = p[:n-1]
		if len(l) > len(p) {
			l = l[:len(p)]
		}
	}
	if len(l) != len(p) {
		return fmt.Errorf("%s: want %d elements, got %d: %.600v", at, len(p), len(l), l)
	}
	for i, x := range p {
		if err := match(at+"["+strconv.Itoa(i)+"]", x, l[i], vars); err != nil {
			return err
		}
	}
	return nil
}
