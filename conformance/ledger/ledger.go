// Package ledger reads conformance/requirements.yaml, which says of every MUST, SHOULD and
// MAY of the specification what shows that it is kept here, and renders it as a page.
package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// Ledger is the file.
type Ledger struct {
	Specification string            `yaml:"specification"` // version
	Totals        Totals            `yaml:"totals"`
	Reasons       map[string]string `yaml:"reasons"` // why rows do not apply, by the name that rows give
	Sections      []Section         `yaml:"sections"`
}

// Totals are what all sections come to, written down apart so that one that is lost shows.
type Totals struct {
	Sections int `yaml:"sections"`
	Counts   `yaml:",inline"`
}

// Counts are numbers of sentences by the keyword in them.
type Counts struct {
	Must   int `yaml:"must"`
	Should int `yaml:"should"`
	May    int `yaml:"may"`
}

// Section is one numbered section of the specification, or an appendix.
type Section struct {
	Number string `yaml:"section"`
	Title  string `yaml:"title"`
	Counts Counts `yaml:"counts"`
	Rows   []Row  `yaml:"rows"`
}

// Row is one statement of the specification. It has Proofs, or says in one of
// NotApplicable and NotDone why there are none.
type Row struct {
	ID            string   `yaml:"id"`
	Level         Level    `yaml:"level"`
	Who           Who      `yaml:"who"`
	From          From     `yaml:"from"`
	Says          string   `yaml:"says"` // in our words
	Proofs        []string `yaml:"proofs"`
	NotApplicable string   `yaml:"not_applicable"` // a name in Reasons, or a sentence
	NotDone       string   `yaml:"not_done"`       // a sentence; never of a MUST
	Diverges      []int    `yaml:"diverges"`       // rows of spec/DIVERGENCES.md
	StrictOnly    bool     `yaml:"strict_only"`    // kept with --strict, and not by default
}

// Level is how much a statement binds.
type Level string

// The levels. MUST NOT, SHALL and REQUIRED bind as MUST does, and so on (RFC 2119).
const (
	Must   Level = "must"
	Should Level = "should"
	May    Level = "may"
)

// Who is bound by a statement.
type Who string

// Whom the specification speaks of; a row with no Who speaks of servers.
const (
	Server Who = ""
	Client Who = "client"
	Both   Who = "both"
	Author Who = "author" // of the specification, an SDK or a custom binding
)

// From is where a statement stands.
type From string

// A row with no From is a keyword in the text, and only these are counted.
const (
	Keyword   From = ""
	Lowercase From = "lower" // said in the text without a keyword
	Table     From = "table" // a table, a list of errors or an example
	Proto     From = "proto" // a comment or annotation in a2a.proto
)

// Load reads a ledger. Unknown keys are errors; what the ledger says is not judged (see
// [Ledger.Problems]).
func Load(path string) (*Ledger, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse is Load for a document in memory.
func Parse(path string, b []byte) (*Ledger, error) {
	var l Ledger
	if err := yaml.UnmarshalWithOptions(b, &l, yaml.Strict()); err != nil {
		return nil, errors.New(path + ": " + yaml.FormatError(err, false, true))
	}
	return &l, nil
}

// Reason says why a row does not apply.
func (l *Ledger) Reason(r Row) string {
	if text, ok := l.Reasons[r.NotApplicable]; ok {
		return text
	}
	return r.NotApplicable
}

// Add counts one more sentence.
func (c *Counts) Add(level Level) {
	switch level {
	case Must:
		c.Must++
	case Should:
		c.Should++
	case May:
		c.May++
	}
}

// Sum is the number of all sentences.
func (c Counts) Sum() int { return c.Must + c.Should + c.May }

// Plus adds up.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.Must + d.Must, c.Should + d.Should, c.May + d.May}
}

func (c Counts) String() string {
	var out []string
	for _, x := range []struct {
		n       int
		keyword string
	}{{c.Must, "MUST"}, {c.Should, "SHOULD"}, {c.May, "MAY"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.keyword))
		}
	}
	return cmp.Or(strings.Join(out, ", "), "no keyword")
}
