package client

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// tap copies what goes over the wire to somebody who wants to see it.
type tap struct{ w io.Writer }

// secret names the headers whose values are for the agent only.
func secret(name string) bool {
	n := strings.ToLower(name)
	return n == "authorization" || n == "cookie" || n == "set-cookie" || strings.Contains(n, "key") || strings.Contains(n, "token") || strings.Contains(n, "secret")
}

func (t *tap) headers(mark string, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range h[name] {
			if secret(name) {
				v = "(withheld)"
			}
			fmt.Fprintf(t.w, "%s %s: %s\n", mark, name, v)
		}
	}
	fmt.Fprintln(t.w, mark)
}

func (t *tap) request(r *http.Request, body []byte) {
	if t.w == nil {
		return
	}
	fmt.Fprintf(t.w, "> %s %s\n", r.Method, r.URL.Redacted())
	t.headers(">", r.Header)
	t.text(">", body)
}

// response shows the head, and the body where it has been read.
func (t *tap) response(resp *http.Response, body []byte) {
	if t.w == nil {
		return
	}
	fmt.Fprintf(t.w, "< %s %s\n", resp.Proto, resp.Status)
	t.headers("<", resp.Header)
	t.text("<", body)
}

func (t *tap) text(mark string, body []byte) {
	for line := range bytes.Lines(body) {
		fmt.Fprintf(t.w, "%s %s\n", mark, bytes.TrimRight(line, "\r\n"))
	}
}

// lines shows a stream while it is read, whole lines at a time.
func (t *tap) lines(r io.Reader) io.Reader {
	if t.w == nil {
		return r
	}
	return io.TeeReader(r, &lineWriter{t: t})
}

// lineWriter holds back a line until it is whole, or too long to wait for.
type lineWriter struct {
	t    *tap
	part []byte
}

const longLine = 64 << 10

func (l *lineWriter) Write(b []byte) (int, error) {
	l.part = append(l.part, b...)
	for {
		n, line, _ := bufio.ScanLines(l.part, false)
		if n == 0 {
			if len(l.part) < longLine {
				return len(b), nil
			}
			n, line = len(l.part), l.part
		}
		fmt.Fprintf(l.t.w, "< %s\n", line)
		l.part = l.part[n:]
	}
}
