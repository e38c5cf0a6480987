package card

import (
	"net/http"
	"strconv"
	"strings"

	"a2aserve/gen/a2a"
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
		c.refuse(w, r, a2a.MethodNotAllowedError.Errorf("The Agent Card is read with GET or HEAD"))
		return
	}
	h.Set("ETag", c.etag)
	if c.private {
		// Shared caches must not hand it to callers that are not authenticated.
		h.Set("Cache-Control", "private, max-age="+strconv.Itoa(maxAge))
		h.Add("Vary", "Authorization")
	} else {
		h.Set("Cache-Control", "public, max-age="+strconv.Itoa(maxAge))
	}
	if matches(r.Header.Values("If-None-Match"), c.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(c.json)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(c.json) // the client has gone: nobody is left to tell
}

// matches compares weakly, as If-None-Match does (RFC 9110 §13.1.2).
func matches(headers []string, etag string) bool {
	for _, h := range headers {
		for tag := range strings.SplitSeq(h, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
