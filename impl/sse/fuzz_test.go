package sse

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// However a stream is cut into reads, the same events come out of it, none larger than the
// bound; and what a writer makes of any data, a reader gives back.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "\ufeffid: 1\r\nevent: x\rdata\n\ndata: {", ":\n\nretry: 99999999999\ndata: \x00\n\n", "data: " + strings.Repeat("x", 80)} {
		f.Add([]byte(s))
	}
	const bound = 64
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := all(NewReader(bytes.NewReader(in), bound))
		single, err2 := all(NewReader(iotest.OneByteReader(bytes.NewReader(in)), bound))
		if !slices.Equal(whole, single) || !errors.Is(err2, io.EOF) != !errors.Is(err, io.EOF) {
			t.Fatalf("%q at once, %v\n%q byte by byte, %v", whole, err, single, err2)
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, ErrTooLong) {
			t.Fatal(err)
		}
		r := NewReader(bytes.NewReader(AppendEvent(nil, 7, in)), 0)
		e, err := r.Next()
		if err != nil || e.ID != "7" || e.Cut || !bytes.Equal(e.Data, bytes.ReplaceAll(in, []byte("\r"), []byte("\n"))) { // a line break is one line break
			t.Fatalf("%q was written and %q read: %v", in, e.Data, err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("%q makes a second event: %v", in, err)
		}
	})
}
