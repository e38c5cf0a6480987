package edge

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/wire"
)

// body bounds what a handler can read. A compressed body is bounded twice, as it comes and
// as it is read, so that a small one cannot become a large one.
func (e *edge) body(w *recorder, r *http.Request) error {
	if r.ContentLength > e.MaxBody {
		return wire.TooLarge(e.MaxBody)
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	zipped, err := coding(r)
	if err != nil {
		w.Header().Set("Accept-Encoding", "gzip") // RFC 9110 §12.5.3
		return err
	}
	// The server's own writer, so that it closes the connection of an oversized body.
	r.Body = http.MaxBytesReader(w.ResponseWriter, r.Body, e.MaxBody)
	if zipped {
		r.Body = http.MaxBytesReader(w.ResponseWriter, &unzip{from: r.Body}, e.MaxBody)
		r.Header.Del("Content-Encoding")
		r.ContentLength = -1
	}
	return nil
}

// coding says whether a body is in gzip. Codings on top of each other have no use but to
// multiply the work.
func coding(r *http.Request) (zipped bool, err error) {
	for _, c := range commas(r.Header.Values("Content-Encoding")) {
		switch c = strings.ToLower(c); {
		case c == "identity" || c == "":
		case (c == "gzip" || c == "x-gzip") && !zipped:
			zipped = true
		default:
			return false, a2a.UnsupportedMediaTypeError.Errorf("Request bodies may be compressed with gzip, once, and with nothing else")
		}
	}
	return zipped, nil
}

// unzip reads a gzip body. It begins with the first read, so that nothing of a body is
// read before the request has passed the edge.
type unzip struct {
	from io.ReadCloser
	gz   *gzip.Reader
}

// Read gives errors that are safe to send, those of the bound among them.
func (u *unzip) Read(b []byte) (n int, err error) {
	if u.gz == nil {
		if u.gz, err = gzip.NewReader(u.from); err != nil {
			return 0, badZip(err)
		}
	}
	n, err = u.gz.Read(b)
	return n, badZip(err)
}

// Close ends the body below.
func (u *unzip) Close() error { return u.from.Close() }

func badZip(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return a2a.InvalidRequestError.Errorf("The request body is not whole, valid gzip").Because(err)
	}
	return err
}

// commas takes the lines of a header apart.
func commas(lines []string) (items []string) {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			items = append(items, strings.TrimSpace(item))
		}
	}
	return items
}
