package store

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// What is read of a trail is what stood in it, and what no release has written is refused.
func FuzzTrail(f *testing.F) {
	at := time.UnixMilli(1767225600000)
	f.Add(step(1, at, false)+step(2, at, true)+step(firstDone, at, false), uint8(1))
	f.Add("1:5;2:x;", uint8(0))
	f.Add("99:1;", uint8(0))
	f.Add("", uint8(2))
	f.Fuzz(func(t *testing.T, trail string, n uint8) {
		docs := make([][]byte, n%8)
		for i := range docs {
			docs[i] = []byte{byte(i)}
		}
		all, err := readTrail(trail, docs)
		if err != nil {
			return
		}
		again, marks := "", 0
		for _, s := range all {
			again += step(codes[s.State], s.At, s.Status != nil)
			if s.Status != nil {
				if !bytes.Equal(s.Status, docs[marks]) {
					t.Fatalf("%q: status %d is %v", trail, marks, s.Status)
				}
				marks++
			}
		}
		back, err := readTrail(again, docs)
		if err != nil || len(back) != len(all) || marks != strings.Count(again, "+") {
			t.Fatalf("%q reads as %q, which reads as %+v: %v", trail, again, back, err)
		}
		for i := range all {
			if back[i].State != all[i].State || !back[i].At.Equal(all[i].At) {
				t.Fatalf("%q reads as %+v, then as %+v", trail, all[i], back[i])
			}
		}
	})
}
