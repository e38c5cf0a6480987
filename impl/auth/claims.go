package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2aserve/impl/call"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Claims name the members of a token, or of an introspection's answer, that say who the
// caller is. Tenant and Scopes may be empty: then there are none.
type Claims struct {
	Principal string
	Tenant    string
	Scopes    string
}

// claims are the members as they came.
type claims map[string]jsontext.Value

// readClaims refuses what two readers could take for different things, such as a name
// that is there twice.
func readClaims(doc []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(doc, &c); err != nil || c == nil {
		return nil, errors.New("the claims are not a JSON object")
	}
	return c, nil
}

// present says whether a claim is there and not null.
func (c claims) present(name string) bool {
	return name != "" && c[name] != nil && c[name].Kind() != 'n'
}

// principal is the caller. A claim that is there and makes no sense is refused, since
// acting without it could mean acting for somebody else.
func (c claims) principal(names Claims) (p call.Principal, err error) {
	if !c.present(names.Principal) {
		return p, fmt.Errorf("there is no claim %q", names.Principal)
	}
	if p.ID, err = c.scalar(names.Principal); err != nil {
		return p, err
	}
	if err = CheckPrincipal(p); err != nil {
		return p, err
	}
	if c.present(names.Tenant) {
		if p.Tenant, err = c.scalar(names.Tenant); err != nil {
			return p, err
		}
	}
	if c.present(names.Scopes) {
		p.Scopes, err = c.scopes(names.Scopes)
	}
	return p, err
}

// scalar is a string that is not empty, or a number as it was written.
func (c claims) scalar(name string) (string, error) {
	v := c[name]
	switch v.Kind() {
	case '0':
		return string(v), nil
	case '"':
		if s := unquote(v); s != "" {
			return s, nil
		}
	}
	return "", fmt.Errorf("the claim %q is neither text nor a number", name)
}

// scopes are a list, or words in one text (RFC 8693 §4.2).
func (c claims) scopes(name string) ([]string, error) {
	v := c[name]
	if v.Kind() == '"' {
		return strings.Fields(unquote(v)), nil
	}
	var list []string
	if err := json.Unmarshal(v, &list); err != nil || slices.ContainsFunc(list, func(s string) bool { return s == "" || strings.ContainsAny(s, " \t") }) {
		return nil, fmt.Errorf("the claim %q is neither text nor a list of scopes", name)
	}
	return list, nil
}

// audience says whether the token is for one of the names (RFC 7519 §4.1.3).
func (c claims) audience(names []string) bool {
	v := c["aud"]
	if v.Kind() == '"' {
		return slices.Contains(names, unquote(v))
	}
	var list []string
	if err := json.Unmarshal(v, &list); err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(names, s) })
}

// time reads a NumericDate (RFC 7519 §2), whose seconds may have a fraction.
func (c claims) time(name string) (time.Time, error) {
	var s float64
	// The bound is the year 9999: beyond it, arithmetic with times is not safe.
	if v := c[name]; v.Kind() != '0' || json.Unmarshal(v, &s) != nil || s < 0 || s > 253402300799 {
		return time.Time{}, fmt.Errorf("the claim %q is no time", name)
	}
	return time.UnixMilli(int64(s * 1000)), nil
}

func unquote(v jsontext.Value) string {
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}
