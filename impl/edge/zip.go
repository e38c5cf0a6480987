package edge

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"a2aserve/impl/wire"
)

const (
	minZip   = 1 << 10          // bytes; smaller answers gain nothing
	zipPiece = 64 << 10         // bytes written under one deadline
	zipWrite = 30 * time.Second // for each of them
)

// Speed before size: the difference is small, and the caller is waiting.
var zips = sync.Pool{New: func() any { gz, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return gz }}

// zipper compresses large JSON answers for those who accept it. Streams pass through, so
// that each event leaves at once. So does what has an entity tag: each coding would need
// one of its own. An answer is held until it is whole, since its length comes first.
type zipper struct {
	http.ResponseWriter
	req     *http.Request
	decided bool
	gz      *gzip.Writer // nil: pass through
	out     bytes.Buffer
	left    int64 // bytes of the answer that are still to come
}

// Unwrap leads http.ResponseController to the connection.
func (z *zipper) Unwrap() http.ResponseWriter { return z.ResponseWriter }

// WriteHeader decides. All JSON answers say their length beforehand.
func (z *zipper) WriteHeader(status int) {
	if z.decided || status < 200 {
		z.ResponseWriter.WriteHeader(status)
		return
	}
	z.decided = true
	h := z.Header()
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	typ := h.Get("Content-Type")
	if err == nil && n >= minZip && status == http.StatusOK && (typ == wire.JSON || typ == wire.A2AJSON) && h.Get("ETag") == "" {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(z.req.Header) {
			h.Set("Content-Encoding", "gzip")
			z.left = n
			z.gz = zips.Get().(*gzip.Writer)
			z.gz.Reset(&z.out)
			return
		}
	}
	z.ResponseWriter.WriteHeader(status)
}

func (z *zipper) Write(b []byte) (int, error) {
	if !z.decided {
		z.WriteHeader(http.StatusOK)
	}
	if z.gz == nil {
		return z.ResponseWriter.Write(b)
	}
	if int64(len(b)) > z.left {
		return 0, http.ErrContentLength
	}
	if _, err := z.gz.Write(b); err != nil {
		return 0, err
	}
	if z.left -= int64(len(b)); z.left > 0 {
		return len(b), nil
	}
	return len(b), z.send()
}

// send writes the whole answer, piece by piece: a slow client is judged by its progress.
// Whoever wrote the answer takes the last deadline back.
func (z *zipper) send() error {
	if err := z.gz.Close(); err != nil {
		return err
	}
	z.Header().Set("Content-Length", strconv.Itoa(z.out.Len()))
	z.ResponseWriter.WriteHeader(http.StatusOK)
	ctl := http.NewResponseController(z.ResponseWriter)
	for z.out.Len() > 0 {
		ctl.SetWriteDeadline(time.Now().Add(zipWrite))
		if _, err := z.ResponseWriter.Write(z.out.Next(zipPiece)); err != nil {
			return err
		}
	}
	return nil
}

// FlushError does nothing while an answer is held.
func (z *zipper) FlushError() error {
	if z.gz != nil && z.left > 0 {
		return nil
	}
	return http.NewResponseController(z.ResponseWriter).Flush()
}

// done takes back what a broken-off answer has announced, so that an error can be sent
// in its place.
func (z *zipper) done() {
	if z.gz == nil {
		return
	}
	if z.left > 0 {
		z.Header().Del("Content-Encoding")
		z.Header().Del("Content-Length")
	}
	zips.Put(z.gz)
	z.gz = nil
}

// acceptsGzip reads Accept-Encoding (RFC 9110 §12.5.3): gzip by name, or else by *.
func acceptsGzip(h http.Header) bool {
	named, star := -1.0, 0.0
	for _, item := range commas(h.Values("Accept-Encoding")) {
		name, params, _ := strings.Cut(item, ";")
		q := 1.0
		if key, v, ok := strings.Cut(strings.TrimSpace(params), "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
			var err error
			if q, err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
				q = 0
			}
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			named = max(named, q)
		case "*":
			star = q
		}
	}
	return named > 0 || named < 0 && star > 0
}
