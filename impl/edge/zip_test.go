package edge

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"a2aserve/impl/wire"
)

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	io.WriteString(w, s)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// LU-06: a compressed body is read under the bound of plain ones, and never taken for what
// it is not.
func TestCompressedBodies(t *testing.T) {
	const limit = 64 << 10
	srv, _ := start(t, Options{MaxBody: limit}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		err := wire.CheckBody(r)
		var b []byte
		if err == nil {
			b, err = wire.ReadBody(r)
		}
		if err != nil {
			wire.Errors{}.Write(w, r, wire.REST, nil, err)
			return
		}
		w.Write(b)
	})
	text := `{"a":"` + strings.Repeat("b", 1000) + `"}`
	for _, c := range []struct {
		name, coding, body string
		status             int
		says               string
	}{
		{"gzip", "gzip", zipped(t, text), 200, text},
		{"in any case", "GZIP", zipped(t, text), 200, text},
		{"old name", "x-gzip", zipped(t, text), 200, text},
		{"with identity", "identity, gzip", zipped(t, text), 200, text},
		{"identity", "identity", text, 200, text},
		{"two members", "gzip", zipped(t, "one ") + zipped(t, "two"), 200, "one two"},
		{"at the bound", "gzip", zipped(t, strings.Repeat("b", limit)), 200, strings.Repeat("b", limit)},
		{"a byte more", "gzip", zipped(t, strings.Repeat("b", limit+1)), 413, `"status":"RESOURCE_EXHAUSTED"`},
		{"bomb", "gzip", zipped(t, strings.Repeat("\x00", 4<<20)), 413, `"status":"RESOURCE_EXHAUSTED"`},
		{"large as it comes", "gzip", strings.Repeat("x", limit+1), 413, `"status":"RESOURCE_EXHAUSTED"`},
		{"plain JSON", "gzip", text, 400, "not whole, valid gzip"},
		{"cut short", "gzip", zipped(t, text)[:20], 400, "not whole, valid gzip"},
		{"bad sum", "gzip", zipped(t, text)[:len(zipped(t, text))-8] + "12345678", 400, "not whole, valid gzip"},
		{"garbage at the end", "gzip", zipped(t, text) + "more", 400, "not whole, valid gzip"},
		{"garbage inside", "gzip", zipped(t, text)[:12] + strings.Repeat("\xff", 30), 400, "not whole, valid gzip"},
		{"twice", "gzip, gzip", zipped(t, zipped(t, text)), 415, "compressed with gzip, once"},
		{"deflate", "deflate", text, 415, "compressed with gzip, once"},
		{"brotli", "br", text, 415, "compressed with gzip, once"},
		{"zstd", "zstd", text, 415, "compressed with gzip, once"},
	} {
		res, body := do(t, srv, "POST", "/x", c.body, "Content-Encoding", c.coding, "Content-Type", "application/json")
		if res.StatusCode != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %.300q", c.name, res.StatusCode, body)
		}
		if c.status == 415 && res.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("%s: the answer does not say what is read: %v", c.name, res.Header)
		}
	}
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	text := strings.Repeat(`{"id":"0123456789"},`, 20_000)
	srv, _ := start(t, Options{}, Limits{}, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		n, _ := strconv.Atoi(q.Get("n"))
		w.Header().Set("Content-Type", q.Get("type"))
		if q.Has("etag") {
			w.Header().Set("ETag", `"x"`)
		}
		w.Header().Set("Content-Length", strconv.Itoa(n))
		if q.Has("panic") {
			io.WriteString(w, text[:n/2])
			panic("oh")
		}
		for at := 0; at < n; at += 5000 { // as bindings write: in pieces, flushed
			io.WriteString(w, text[at:min(n, at+5000)])
		}
		http.NewResponseController(w).Flush()
	})
	get := func(method, query, accept string) (*http.Response, string) {
		return do(t, srv, method, "/x?"+query, "", "Accept-Encoding", accept) // by hand, so that the client leaves it as it is
	}
	for _, c := range []struct {
		name, query, accept string
		packed, vary        bool
	}{
		{"large", "n=400000&type=application/json", "gzip", true, true},
		{"a2a+json", "n=1024&type=application/a2a%2Bjson", "gzip, deflate, br", true, true},
		{"by star", "n=2000&type=application/json", "*", true, true},
		{"with weights", "n=2000&type=application/json", "br;q=1.0, gzip;q=0.5, *;q=0", true, true},
		{"not accepted", "n=2000&type=application/json", "gzip;q=0, *", false, true},
		{"identity", "n=2000&type=application/json", "identity", false, true},
		{"nonsense", "n=2000&type=application/json", "gzip;q=x", false, true},
		{"small", "n=1023&type=application/json", "gzip", false, false},
		{"stream", "n=2000&type=text/event-stream", "gzip", false, false},
		{"tagged", "n=2000&type=application/json&etag=1", "gzip", false, false},
	} {
		res, body := get("GET", c.query, c.accept)
		if packed := res.Header.Get("Content-Encoding") == "gzip"; packed != c.packed || (res.Header.Get("Vary") == "Accept-Encoding") != c.vary ||
			res.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
			t.Errorf("%s: %v, %d bytes", c.name, res.Header, len(body))
			continue
		}
		if c.packed {
			gz, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(gz)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if len(body) > len(plain)/2 {
				t.Errorf("%s: %d bytes of %d", c.name, len(body), len(plain))
			}
			body = string(plain)
		}
		if !strings.HasPrefix(text, body) || !strings.HasPrefix(c.query, "n="+strconv.Itoa(len(body))+"&") {
			t.Errorf("%s: %.100q", c.name, body)
		}
	}
	if res, body := get("HEAD", "n=2000&type=application/json", "gzip"); res.Header.Get("Content-Encoding") != "gzip" || body != "" || res.ContentLength > 1000 {
		t.Errorf("HEAD: %v %q", res.Header, body)
	}
	// Nothing has been sent yet, so the error is, whole and readable.
	if res, body := get("GET", "n=200000&type=application/json&panic=1", "gzip"); res.StatusCode != 500 || res.Header.Get("Content-Encoding") != "" || !strings.Contains(body, `"status":"INTERNAL"`) {
		t.Errorf("panic: %d %v %.100q", res.StatusCode, res.Header, body)
	}
}
