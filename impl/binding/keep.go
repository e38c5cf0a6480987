package binding

import (
	"net/http"

	"a2aserve/impl/wire"
)

// keep lets the caller, and nobody on the way, use an answer for five minutes and ask then
// whether it still holds (A2A §13.3). It reports whether the caller has it already, which
// it has answered then. A JSON-RPC answer can be kept but not asked for: it has no address.
func keep(w reply, etag string) (answered bool) {
	if etag == "" {
		return false
	}
	w.Header().Set("Cache-Control", "private, max-age=300")
	w.Header().Add("Vary", "Authorization")
	if w.binding != wire.REST {
		return false
	}
	w.Header().Set("ETag", etag)
	if !wire.Fresh(w.req, etag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}
