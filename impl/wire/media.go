package wire

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"a2aserve/gen/a2a"
)

// The media types of the bindings (A2A §9.1, §11.1, §14.1).
const (
	JSON        = "application/json"
	A2AJSON     = "application/a2a+json"
	EventStream = "text/event-stream"
)

// MediaType chooses what a REST response is labelled: a2a+json, unless the caller prefers
// plain JSON. A header that allows neither gets a2a+json all the same: an answer in a
// known format serves a caller better than none. Who asked for a stream and gets a refusal
// has named no JSON at all; clients such as the official one for Go read it as plain JSON only.
func MediaType(r *http.Request) string {
	plain, own, stream := 0.0, 0.0, false
	for _, line := range r.Header.Values("Accept") {
		for item := range strings.SplitSeq(line, ",") {
			typ, params, err := mime.ParseMediaType(item)
			if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
				continue
			}
			q := 1.0
			if v, err := strconv.ParseFloat(params["q"], 64); err == nil {
				q = v
			}
			switch typ {
			case JSON:
				plain = max(plain, q)
			case A2AJSON:
				own = max(own, q)
			case EventStream:
				stream = true
			}
		}
	}
	if plain > own || stream && own == 0 {
		return JSON
	}
	return A2AJSON
}

// CheckBody refuses a request whose body is not labelled as JSON: either media type, in
// any case and with any parameters. The edge has taken gzip off; what is still compressed
// cannot be read.
func CheckBody(r *http.Request) error {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") {
			return a2a.UnsupportedMediaTypeError.Errorf("Request bodies may be compressed with gzip only")
		}
	}
	values := r.Header.Values("Content-Type")
	if len(values) == 1 {
		typ, _, err := mime.ParseMediaType(values[0])
		if (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && (typ == JSON || typ == A2AJSON) {
			return nil
		}
	}
	return a2a.UnsupportedMediaTypeError.Errorf("Content-Type must be %s or %s", JSON, A2AJSON)
}

// Fresh says whether the caller has the document with this entity tag already. The
// comparison is weak, as If-None-Match has it (RFC 9110 §13.1.2).
func Fresh(r *http.Request, etag string) bool {
	for _, h := range r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(h, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
