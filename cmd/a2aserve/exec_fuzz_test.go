package main

import (
	"slices"
	"strings"
	"testing"
)

// Words of a command, quoted again, are the same words; and the first names a program.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`tr a-z A-Z`, `a 'b "c' "d\"e"`, `a\`, `"`, "a\n\t b", `'' x`, `a"\x"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		words, err := split(command)
		if err != nil {
			return
		}
		if len(words) == 0 || words[0] == "" {
			t.Fatalf("%q gives %q", command, words)
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		again, err := split(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Fatalf("%q gives %q, which gives %q: %v", command, words, again, err)
		}
	})
}
