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
func (h *Handler) negotiate(r *http.Request) error {
	c := call.From(r.Context())
	versions := r.Header.Values(wire.VersionHeader)
	if r.URL.RawQuery != "" {
		versions = slices.Clone(versions)
		for name, values := range r.URL.Query() {
			if strings.EqualFold(name, wire.VersionHeader) {
				versions = append(versions, values...)
			}
		}
	}
	// All of them must do: a proxy may have read another one than we would pick.
	given := false
	for _, v := range versions {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		given = true
		if v != wire.Version && !supported.MatchString(v) {
			return unsupported("A2A version %q is not supported; this server speaks "+wire.Version, v[:min(len(v), 32)])
		}
	}
	if !given && h.StrictVersion {
		return unsupported("A request without %s is one of version 0.3, which is not supported; this server speaks "+wire.Version, wire.VersionHeader)
	}
	c.Version = wire.Version
	c.Extensions = h.extensions(r.Header)
	return nil
}

// unsupported says what would be supported, in words and for programs (A2A §3.3.2).
func unsupported(format string, args ...any) error {
	return a2a.VersionNotSupportedError.Errorf(format, args...).With("supportedVersions", wire.Version)
}

// extensions lists the requested URIs that are supported, in order, each once; others are
// ignored (A2A §4.6.3). The header's old name is read too, since clients of earlier
// versions still send it.
func (h *Handler) extensions(header http.Header) []string {
	var list []string
	for _, name := range []string{wire.ExtensionsHeader, "X-" + wire.ExtensionsHeader} {
		for _, line := range header.Values(name) {
			for uri := range strings.SplitSeq(line, ",") {
				if uri = strings.TrimSpace(uri); slices.Contains(h.Extensions, uri) && !slices.Contains(list, uri) {
					list = append(list, uri)
				}
			}
		}
	}
	return list
}
