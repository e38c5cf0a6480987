package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// problem is one mistake: where it stands, the key, and what was expected.
type problem struct {
	place
	key  string
	text string
}

// Errors are all the mistakes of a configuration, in the order of the file.
type Errors []Problem

// Problem is one mistake of a configuration.
type Problem struct {
	File         string
	Line, Column int    // from 1; 0 where the value is in no file
	From         string // the flag that the value came from
	Key          string // dotted, such as card.skills[0].id; empty for the whole
	Text         string // what was expected
}

// String is file:line:column: key: text.
func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.From != "":
		b.WriteString(p.From)
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d", p.File, p.Line, p.Column)
	default:
		b.WriteString(p.File)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	return b.String() + p.Text
}

// Error has one line for each mistake.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// errors sorts the problems into file order and keeps one for a value, the first.
func (d *document) errors() Errors {
	slices.SortStableFunc(d.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.key, b.key))
	})
	var out Errors
	// A value that fails a pattern fails a format too; one line about it is enough.
	type value struct {
		key          string
		line, column int
	}
	seen := map[value]bool{}
	for _, p := range d.problems {
		id := value{p.key, p.line, p.column}
		if seen[id] {
			continue
		}
		seen[id] = true
		out = append(out, Problem{File: d.name, Line: p.line, Column: p.column, From: p.from, Key: p.key, Text: p.text})
	}
	return out
}

// problem notes a mistake at a JSON pointer; what is missing is placed at its parent.
func (d *document) problem(ptr, format string, args ...any) {
	p := problem{key: keyPath(ptr), text: fmt.Sprintf(format, args...)}
	for {
		at, ok := d.at[ptr]
		if ok {
			p.place = at
			break
		}
		i := strings.LastIndexByte(ptr, '/')
		if i < 0 {
			break
		}
		ptr = ptr[:i]
	}
	d.problems = append(d.problems, p)
}

// keyPath writes a JSON pointer as people write keys: card.skills[0].id.
func keyPath(ptr string) string {
	var b strings.Builder
	for key := range strings.SplitSeq(strings.TrimPrefix(ptr, "/"), "/") {
		key = unescape(key)
		switch _, err := strconv.Atoi(key); {
		case err == nil:
			b.WriteString("[" + key + "]")
		case b.Len() > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// nearest is the known key that a misspelt one most likely means, or "". A third of the
// letters may be wrong, so that short keys are not taken for each other.
func nearest(key string, known []string) string {
	best, least := "", max(2, len(key)/3)+1
	for _, k := range known {
		if n := distance(normal(key), normal(k)); n < least {
			best, least = k, n
		}
	}
	return best
}

// normal ignores what is most often mixed up: case, dashes, underscores.
func normal(s string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(s))
}

// distance is the number of letters to insert, drop, replace or swap. Swapped neighbours
// count once, since they are one slip of the fingers.
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 0
			if a[i-1] != b[j-1] {
				change = 1
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
