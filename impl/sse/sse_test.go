package sse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func all(r *Reader) (out []string, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return out, err
		}
		s := fmt.Sprintf("%s#%s %q", e.Type, e.ID, e.Data)
		if e.Retry > 0 {
			s += " " + e.Retry.String()
		}
		if e.Cut {
			s += " cut"
		}
		out = append(out, s)
	}
}

func TestReader(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "data: a\n\ndata: b\n\n", `message# "a"|message# "b"`},
		{"CRLF", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", `message#1 "a"|message#1 "b"`},
		{"CR", "data: a\r\rdata: b\r\r", `message# "a"|message# "b"`},
		{"no space", "data:a\n\ndata:  b\n\n", `message# "a"|message# " b"`},
		{"several lines", "data: {\ndata: }\ndata\n\n", `message# "{\n}\n"`},
		{"comments", ": hello\n\n:\ndata: a\n: x\n\n", `message# "a"`},
		{"fields", "event: x\nid: 7\nretry: 1500\ndata: a\nfoo: b\n\ndata: c\n\n", `x#7 "a" 1.5s|message#7 "c"`},
		{"no data, no event", "event: x\n\nid: 3\n\ndata: a\n\n", `message#3 "a"`},
		{"empty data", "data\n\ndata:\n\n", `message# ""|message# ""`},
		{"bad id and retry", "id: a\x00b\nretry: 1s\ndata: a\n\n", `message# "a"`},
		{"BOM", "\ufeffdata: a\n\n", `message# "a"`},
		{"BOM later is data", "data: \ufeffa\n\n", "message# \"\\ufeffa\""},
		{"no blank line at the end", "data: a\n\ndata: {\"b\":1}\n", `message# "a"|message# "{\"b\":1}" cut`},
		{"no line end at the end", "data: a\n\ndata: {\"b\":1}", `message# "a"|message# "{\"b\":1}" cut`},
		{"nothing", "", ""},
		{"short", "d", ""},
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in)), "halves": iotest.HalfReader(strings.NewReader(c.in))} {
			got, err := all(NewReader(in, 0))
			if strings.Join(got, "|") != c.want || err != io.EOF {
				t.Errorf("%s, %s: %s %v\nwant %s", c.name, name, strings.Join(got, "|"), err, c.want)
			}
		}
	}
}

func TestReaderBounds(t *testing.T) {
	for _, in := range []string{"data: " + strings.Repeat("x", 200), strings.Repeat("data: x\n", 200) + "\n", ":" + strings.Repeat("x", 200) + "\n\n"} {
		r := NewReader(io.MultiReader(strings.NewReader(in), strings.NewReader("data: a\n\n")), 100)
		for range 2 {
			if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
				t.Errorf("%.20q: %v", in, err)
			}
		}
	}
}

func TestReaderReportsABrokenConnection(t *testing.T) {
	boom := errors.New("reset")
	got, err := all(NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(boom)), 0))
	if strings.Join(got, "|") != `message# "a"|message# "b" cut` || err != boom {
		t.Errorf("%q %v", got, err)
	}
}

func TestReaderDoesNotWaitAfterCR(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go func() { out.Write([]byte("data: a\r\r")) }()
	got := make(chan string)
	r := NewReader(in, 0)
	go func() { e, _ := r.Next(); got <- string(e.Data) }()
	select {
	case s := <-got:
		if s != "a" {
			t.Errorf("got %q", s)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the reader waits for more")
	}
}

func TestWriterAndReaderAgree(t *testing.T) {
	b := AppendEvent([]byte(Comment), 7, []byte(`{"a":`), []byte(`1}`))
	b = AppendEvent(append(b, Comment...), 8, []byte("2\n,\r3"))
	got, _ := all(NewReader(strings.NewReader(string(b)), 0))
	if strings.Join(got, "|") != `message#7 "{\"a\":1}"|message#8 "2\n,\n3"` {
		t.Errorf("%q", got)
	}
}
