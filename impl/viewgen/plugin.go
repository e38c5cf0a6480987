package viewgen

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
)

// request is what sqlc tells a plugin (format json), as far as it is needed here.
type request struct {
	Settings struct {
		Schema []string `json:"schema"`
	} `json:"settings"`
	Queries []query `json:"queries"`
}

type query struct {
	Text     string   `json:"text"`
	Name     string   `json:"name"`
	Filename string   `json:"filename"`
	Comments []string `json:"comments"`
	Params   []param  `json:"params"`
}

type param struct {
	Number int `json:"number"`
	Column struct {
		Name         string `json:"name"`
		OriginalName string `json:"original_name"`
		NotNull      bool   `json:"not_null"`
		Slice        bool   `json:"is_sqlc_slice"`
	} `json:"column"`
}

// Plugin answers one request of sqlc. It writes no file; it fails where a statement could
// reach another principal's rows, naming file, statement and table, all at once.
func Plugin(in io.Reader, out io.Writer) error {
	var req request
	if err := json.UnmarshalRead(in, &req); err != nil {
		return fmt.Errorf("reading sqlc's request: %w", err)
	}
	faults, err := check(context.Background(), req)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("statements that are not provably scoped to one principal:\n  %s", strings.Join(faults, "\n  "))
	}
	_, err = io.WriteString(out, "{}")
	return err
}

// check judges the schema first, since every proof rests on it.
func check(ctx context.Context, req request) ([]string, error) {
	s, err := loadSchema(ctx, req.Settings.Schema)
	if err != nil {
		return nil, err
	}
	defer s.close()
	faults, err := s.faults(ctx)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return faults, nil // proofs would rest on what is broken
	}
	for _, q := range req.Queries {
		for _, why := range s.examine(ctx, q) {
			faults = append(faults, fmt.Sprintf("%s: %s: %s", q.Filename, q.Name, why))
		}
	}
	return faults, nil
}

// examine returns what speaks against a statement.
func (s *schema) examine(ctx context.Context, q query) []string {
	principal, faults := q.parameters()
	if len(faults) > 0 {
		return faults
	}
	p, err := s.compile(ctx, q.Text, len(q.Params))
	if err != nil {
		return []string{err.Error()}
	}
	faults = p.shape()
	tables := p.scopedTables()
	noted := q.noted()
	switch {
	case len(tables) > 0 && principal == 0 && !noted:
		return []string{fmt.Sprintf("reaches %s without a parameter @%s", strings.Join(tables, ", "), principalColumn)}
	case len(faults) > 0:
		return faults
	case len(tables) == 0 && !noted:
		return []string{fmt.Sprintf("reaches no scoped table: say in a comment %q why it may", unscopedNote+" ...")}
	case len(tables) == 0:
		return nil
	case noted:
		return []string{fmt.Sprintf("is noted %q but reaches %s", unscopedNote, strings.Join(tables, ", "))}
	}
	return p.prove(principal)
}

func (q query) noted() bool {
	for _, c := range q.Comments {
		if isUnscopedNote(c) {
			return true
		}
	}
	return false
}

var sliceMark = regexp.MustCompile(`/\*SLICE:[^*]*\*/\?`)

// parameters finds the principal's number (0: none) and what sqlc would get wrong.
func (q query) parameters() (principal int, faults []string) {
	for _, p := range q.Params {
		c := p.Column
		switch {
		case c.Name == principalColumn && principal != 0:
			faults = append(faults, fmt.Sprintf("has two parameters for %s", principalColumn))
		case c.Name == principalColumn:
			principal = p.Number
			if c.Slice || !c.NotNull {
				faults = append(faults, fmt.Sprintf("@%s must be one value that is never null", principalColumn))
			}
		case c.OriginalName == principalColumn:
			faults = append(faults, fmt.Sprintf("parameter %q stands for %s: name it @%s", c.Name, principalColumn, principalColumn))
		}
	}
	// sqlc numbers parameters as if a slice were one value: whatever follows it is shifted.
	if at := sliceMark.FindStringIndex(q.Text); at != nil && strings.Contains(q.Text[at[1]:], "?") {
		faults = append(faults, "has a parameter after a sqlc.slice: put the slice last")
	}
	return principal, faults
}
