package card

import (
	"net/http"
	"strconv"

	"a2aserve/gen/a2a"
	"a2aserve/impl/wire"
)

// Path is where clients look for the card, at the origin (A2A §8.2).
const Path = "/.well-known/agent-card.json"

// maxAge is how long a client may use the card without asking, in seconds (A2A §8.6.1).
const maxAge = 300

// ServeHTTP answers GET and HEAD, whatever protocol version the client asks for: the
// card is how it learns which there are.
func (c *Card) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		c.options.Refuse(w, r, a2a.MethodNotAllowedError.Errorf("The Agent Card is read with GET or HEAD"))
		return
	}
	out := c.first
	if c.options.Base != nil {
		out = c.At(c.options.Base(r))
		h.Add("Vary", c.options.Vary)
	}
	h.Set("ETag", out.ETag)
	if c.options.Private {
		// Shared caches must not hand it to callers that are not authenticated.
		h.Set("Cache-Control", "private, max-age="+strconv.Itoa(maxAge))
		h.Add("Vary", "Authorization")
	} else {
		h.Set("Cache-Control", "public, max-age="+strconv.Itoa(maxAge))
	}
	if wire.Fresh(r, out.ETag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(out.JSON)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(out.JSON) // the client has gone: nobody is left to tell
}
