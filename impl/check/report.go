package check

import (
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Report is what a run has found. Nothing in it is a credential.
type Report struct {
	Agent      string      `json:"agent"`
	URL        string      `json:"url"`
	Started    time.Time   `json:"started"`
	Took       int64       `json:"milliseconds"`
	Requests   int         `json:"requests"`
	ReadOnly   bool        `json:"readOnly,omitzero"`
	Interfaces []Interface `json:"interfaces"`
	Summary    Summary     `json:"summary"`
	Results    []*Result   `json:"results"`
	Canceled   []string    `json:"canceled,omitzero"` // tasks of this run that were still running
}

// Interface is one of those that the card names.
type Interface struct {
	Name    string `json:"name"`
	URL     string `json:"url,omitzero"`
	Version string `json:"version,omitzero"`
	Tried   bool   `json:"tried"` // not: of a binding or version that is not tried
}

// Result is the outcome of one check on one interface.
type Result struct {
	ID         string      `json:"id"`
	Group      string      `json:"-"`
	Binding    string      `json:"binding,omitzero"` // name of the interface; empty: the agent as a whole
	Level      Level       `json:"level"`
	Section    string      `json:"section"`
	Title      string      `json:"title"`
	Verdict    Verdict     `json:"verdict"`
	Reason     string      `json:"reason,omitzero"`
	Notes      []string    `json:"notes,omitzero"`
	Expected   string      `json:"expected,omitzero"`   // why this failure was expected
	Unexpected string      `json:"unexpected,omitzero"` // why a failure was expected that did not come
	Exchanges  []*Exchange `json:"exchanges,omitzero"`

	face string // its binding
}

// Summary counts the results.
type Summary struct {
	Must          Count `json:"must"`
	Should        Count `json:"should"`
	May           Count `json:"may"`
	Expected      int   `json:"expected"`   // failures that were expected; not among the failed
	Unexpected    int   `json:"unexpected"` // passes where a failure was expected
	Passed        int   `json:"passed"`
	Failed        int   `json:"failed"`
	Skipped       int   `json:"skipped"`
	NotApplicable int   `json:"notApplicable"`
}

// Count is of one level.
type Count struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// OK reports whether no MUST has failed but those that were expected to.
func (r *Report) OK() bool { return r.Summary.Must.Failed == 0 }

// Failed reports whether a result counts as a failure.
func (r *Result) Failed() bool { return r.Verdict == Fail && r.Expected == "" }

func (r *Report) sum() {
	s := &r.Summary
	for _, one := range r.Results {
		level := map[Level]*Count{Must: &s.Must, Should: &s.Should, May: &s.May}[one.Level]
		switch {
		case one.Verdict == Fail && one.Expected != "":
			s.Expected++
		case one.Verdict == Fail:
			s.Failed++
			level.Failed++
		case one.Verdict == Skip:
			s.Skipped++
		case one.Verdict == NotApplicable:
			s.NotApplicable++
		default:
			s.Passed++
			level.Passed++
			if one.Unexpected != "" {
				s.Unexpected++
			}
		}
	}
}

// JSON writes the whole report.
func (r *Report) JSON(w io.Writer) error {
	err := json.MarshalWrite(w, r, jsontext.WithIndent("  "))
	if err == nil {
		_, err = io.WriteString(w, "\n")
	}
	return err
}
