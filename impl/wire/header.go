package wire

import "net/http"

// Values that every answer carries are shared by all answers, which saves an allocation for each.
// That is safe: whoever sets a header replaces the slice, and an append to a full one copies it.
var (
	versionKey    = http.CanonicalHeaderKey(VersionHeader)
	versionValues = []string{Version}
	nosniffValues = []string{"nosniff"}
	typeValues    = map[string][]string{JSON: {JSON}, A2AJSON: {A2AJSON}}
)

// Mark says which protocol version answers, and that browsers must take its type as it is.
func Mark(h http.Header) {
	h[versionKey] = versionValues
	h["X-Content-Type-Options"] = nosniffValues
}

// SetType labels a document as JSON or A2AJSON.
func SetType(h http.Header, typ string) { h["Content-Type"] = typeValues[typ] }
