package binding

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"a2aserve/impl/call"
	"a2aserve/impl/wire"
)

// Whatever the headers that negotiate, 1.0 is spoken or nothing: no other version passes,
// wherever it stands, and no extension is activated that is not both asked for and known.
func FuzzHeaders(f *testing.F) {
	for _, s := range [][4]string{{"1.0", "", "", ""}, {"1.0.17", "1.0", "https://x/v1, https://y/v1,", "application/json;q=0.5, application/a2a+json;q=0.1"}, {"", "0.3", " ,https://y/v1", "*/*;q=nan"}, {"1.00", "\t1.0 ", "https://x/v1;a=b", ";;,"}} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	known := []string{"https://x/v1", "https://y/v1"}
	h := New(Options{Extensions: known})
	f.Fuzz(func(t *testing.T, version, query, extensions, accept string) {
		r := httptest.NewRequest("GET", "/tasks", nil)
		r.URL.RawQuery = url.Values{"a2a-version": {query}}.Encode()
		r.Header.Set(wire.VersionHeader, version)
		r.Header.Set(wire.ExtensionsHeader, extensions)
		r.Header.Set("Accept", accept)
		c := &call.Call{}
		r = r.WithContext(call.With(r.Context(), c))
		right := true
		for _, v := range []string{version, query} {
			v = strings.TrimSpace(v)
			patch, is := strings.CutPrefix(v, "1.0")
			right = right && (v == "" || is && (patch == "" || patch[0] == '.' && len(patch) > 1 && strings.Trim(patch[1:], "0123456789") == "" && len(patch) < 11))
		}
		if err := h.negotiate(r); (err == nil) != right {
			t.Fatalf("%q and %q: %v", version, query, err)
		}
		for i, uri := range c.Extensions {
			if !strings.Contains(extensions, uri) || !slices.Contains(known, uri) || slices.Contains(c.Extensions[:i], uri) {
				t.Fatalf("%q activates %q", extensions, c.Extensions)
			}
		}
		if m := wire.MediaType(r); m != wire.JSON && (m != wire.A2AJSON || accept == wire.JSON) {
			t.Fatalf("%q gets %q", accept, m)
		}
	})
}
