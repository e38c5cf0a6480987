package check

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Expectations are deviations that are known, and accepted for a reason.
type Expectations struct {
	Expect []Expectation `yaml:"expect"`
}

// Expectation is one deviation.
type Expectation struct {
	ID      string `yaml:"id"`
	Binding string `yaml:"binding"` // empty: on every interface
	Reason  string `yaml:"reason"`
}

// ReadExpectations reads a file of expectations:
//
//	expect:
//	  - id: version.absent
//	    binding: JSONRPC      # left out: on both
//	    reason: our clients never spoke 0.3
//
// An id that the catalogue does not have is an error, and so is a missing reason: an
// expectation that nobody can explain is a fault.
func ReadExpectations(b []byte) (*Expectations, error) {
	var e Expectations
	if err := yaml.UnmarshalWithOptions(b, &e, yaml.DisallowUnknownField()); err != nil {
		return nil, fmt.Errorf("expectations: %s", yaml.FormatError(err, false, true))
	}
	for i, x := range e.Expect {
		switch {
		case x.ID == "":
			return nil, fmt.Errorf("expectations: expect[%d].id: is required", i)
		case ByID(x.ID) == nil:
			return nil, fmt.Errorf("expectations: expect[%d].id: there is no check %q; --list names them", i, x.ID)
		case x.Reason == "":
			return nil, fmt.Errorf("expectations: expect[%d].reason: is required", i)
		case x.Binding != "" && x.Binding != JSONRPC && x.Binding != REST:
			return nil, fmt.Errorf("expectations: expect[%d].binding: must be %s or %s", i, JSONRPC, REST)
		}
	}
	return &e, nil
}

// apply marks the results that were expected, and those that were expected to fail and
// do not.
func (e *Expectations) apply(r *Report) {
	if e == nil {
		return
	}
	for _, x := range e.Expect {
		for _, one := range r.Results {
			if one.ID != x.ID || x.Binding != "" && x.Binding != one.face {
				continue
			}
			switch one.Verdict {
			case Fail:
				one.Expected = x.Reason
			case Pass:
				one.Unexpected = x.Reason
			}
		}
	}
}
