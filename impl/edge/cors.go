package edge

import (
	"net/http"
	"strings"
)

// What pages of other origins may do. Which request headers they may send is not
// restricted: none of them carries more than the page itself could say elsewhere.
const (
	corsMethods = "GET, HEAD, POST, DELETE"
	corsExposed = "A2A-Version, A2A-Extensions, ETag, WWW-Authenticate, Retry-After, X-Request-Id"
	corsMaxAge  = "600" // seconds that a browser may go without asking again
)

// CORS says which web pages may call. Nil lets none. Credentials that a browser adds by
// itself (cookies, client certificates) are never allowed.
type CORS struct {
	any     bool
	origins map[string]bool
}

// NewCORS allows these origins, such as https://app.example.com; * allows every one.
func NewCORS(origins []string) *CORS {
	if len(origins) == 0 {
		return nil
	}
	c := &CORS{origins: map[string]bool{}}
	for _, o := range origins {
		c.any = c.any || o == "*"
		c.origins[strings.ToLower(o)] = true
	}
	return c
}

// answer sets the headers of a response, and says whether that is all: a preflight is
// answered here, since browsers send it without credentials (Fetch §4.8). An origin that
// is not allowed gets no headers, which is how its browser learns.
func (c *CORS) answer(h http.Header, r *http.Request) (preflight bool) {
	if c == nil {
		return false
	}
	h.Add("Vary", "Origin")
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return false
	}
	allowed := c.any || c.origins[strings.ToLower(origins[0])]
	if allowed {
		h.Set("Access-Control-Allow-Origin", origins[0])
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
		if allowed {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			if asked := r.Header.Values("Access-Control-Request-Headers"); len(asked) > 0 {
				h.Set("Access-Control-Allow-Headers", strings.Join(asked, ", "))
			}
			h.Set("Access-Control-Max-Age", corsMaxAge)
		}
		return true
	}
	if allowed {
		h.Set("Access-Control-Expose-Headers", corsExposed)
	}
	return false
}
