package binding

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/call"
	"a2aserve/impl/wire"
)

// supported is 1.0: a patch number says nothing about compatibility (A2A §3.6).
var supported = regexp.MustCompile(`^1\.0(\.\d{1,9})?$`)

// negotiate settles the version and the extensions of a request (A2A §3.2.6), which come
// in headers, the version also in the query (A2A §3.6.1).
func (h *Handler) negotiate(w http.ResponseWriter, r *http.Request) error {
	c := call.From(r.Context())
	versions := slices.Clone(r.Header.Values(wire.VersionHeader))
	for name, values := range r.URL.Query() {
		if strings.EqualFold(name, wire.VersionHeader) {
			versions = append(versions, values...)
		}
	}
	// All of them must do: a proxy may have read another one than we would pick.
	given := false
	for _, v := range versions {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		given = true
		if !supported.MatchString(v) {
			return unsupported("A2A version %q is not supported; this server speaks "+wire.Version, v[:min(len(v), 32)])
		}
	}
	if !given && h.StrictVersion {
		return unsupported("A request without %s is one of version 0.3, which is not supported; this server speaks "+wire.Version, wire.VersionHeader)
	}
	// What is activated is said in the answer; an unknown extension is simply not.
	c.Version = wire.Version
	c.Extensions = extensions(r.Header)
	var active []string
	for _, uri := range c.Extensions {
		if slices.Contains(h.Extensions, uri) {
			active = append(active, uri)
		}
	}
	if len(active) > 0 {
		w.Header().Set(wire.ExtensionsHeader, strings.Join(active, ", "))
	}
	return nil
}

// unsupported says what would be supported, in words and for programs (A2A §3.3.2).
func unsupported(format string, args ...any) error {
	return a2a.VersionNotSupportedError.Errorf(format, args...).With("supportedVersions", wire.Version)
}

// extensions lists the requested URIs in order, each once. The header's old name is read
// too, since clients of earlier versions still send it.
func extensions(header http.Header) []string {
	var list []string
	for _, name := range []string{wire.ExtensionsHeader, "X-" + wire.ExtensionsHeader} {
		for _, line := range header.Values(name) {
			for uri := range strings.SplitSeq(line, ",") {
				if uri = strings.TrimSpace(uri); uri != "" && !slices.Contains(list, uri) {
					list = append(list, uri)
				}
			}
		}
	}
	return list
}
