// Package check tries a running A2A agent, anybody's, from outside: what its card says,
// whether each interface that the card names keeps to the specification, and whether they
// agree with each other.
//
// It does no harm. Requests go out one at a time and are counted against a bound, only tasks
// that it has made itself are touched and looked at, and what is still running in the end
// is canceled. ReadOnly sends nothing that could make a task. What it learns stays in the
// report, from which credentials are left out.
package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Level says how much a check matters, in the specification's terms.
type Level string

// The levels. Only a failed MUST makes a report bad; MAY also stands for advice on what the
// specification leaves to other standards.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Verdict is the outcome of a check.
type Verdict string

// The verdicts. A check is skipped when it could not be tried, and does not apply when the
// agent does not offer what it is about.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	Skip          Verdict = "skip"
	NotApplicable Verdict = "not applicable"
)

// Check is one row of the catalogue.
type Check struct {
	ID      string // group and name, such as "list.paging"; never given another meaning
	Level   Level
	Section string // of the specification, such as "3.1.4"; or of another standard, by its name
	Title   string // what must hold, as a sentence
	Needs   []Need

	Each bool // tried on each interface rather than once
	late bool // judges what the others have seen
	run  func(*trial)
}

// Group is the first part of the id.
func (c *Check) Group() string { g, _, _ := strings.Cut(c.ID, "."); return g }

// Need is what a check cannot be tried without.
type Need string

// The needs. A behaviour of the scenario is one too, by its name.
const (
	Write    Need = "write"        // it sends messages
	Streams  Need = "streaming"    // the card declares it
	Token    Need = "token"        // credentials of a caller
	Second   Need = "second token" // credentials of another caller
	Both     Need = "two bindings" // the card names an interface of each
	OnlyRPC  Need = "JSONRPC"      // the interface is of this binding
	OnlyREST Need = "HTTP+JSON"    // the interface is of this binding
	Secure   Need = "https"
)

// Options say what to try and with what.
type Options struct {
	URL         string // of the agent, or of its card
	Token       string // sent as a bearer token
	SecondToken string // of another caller, who must not see the first one's tasks
	Header      http.Header
	Scenario    *Scenario // nil: the demo agent's contracts
	Expect      *Expectations
	ReadOnly    bool
	Only        []string      // ids and groups of checks; empty: all
	Timeout     time.Duration // of one request, and of the pause between two frames; 0: 10 s
	MaxRequests int           // 0: 1,000; cleaning up is not counted
	TLS         *tls.Config   // nil: the system's authorities

	// Progress, if set, is told of each result as it comes, in order.
	Progress func(done, total int, r *Result)
}

// Bounds.
const (
	defaultTimeout  = 10 * time.Second
	defaultRequests = 1000
	maxBody         = 4 << 20 // bytes of an answer that are read
	maxFrames       = 2000    // of one stream
)

// ErrUnreachable is part of every error of Run: nothing could be tried.
var ErrUnreachable = errors.New("the agent could not be tried")

// Run tries the agent. Its error says that nothing could be tried; what fails is in the
// report. The context ends the run early, and what was not tried is skipped.
func Run(ctx context.Context, o Options) (*Report, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%w: %q is no http or https URL", ErrUnreachable, hidePassword(o.URL))
	}
	for _, id := range o.Only {
		if !slices.ContainsFunc(catalogue, func(c *Check) bool { return c.ID == id || c.Group() == id }) {
			return nil, fmt.Errorf("%w: there is no check or group %q", ErrUnreachable, id)
		}
	}
	s := newSession(ctx, o, base)
	defer s.http.CloseIdleConnections()
	if err := s.discover(); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnreachable, s.redact(err.Error()))
	}
	if err := s.admitted(); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnreachable, s.redact(err.Error()))
	}
	plan := s.plan()
	r := &Report{
		Agent: s.card.Name, URL: s.redact(s.cardURL), Started: time.Now().UTC().Truncate(time.Millisecond),
		ReadOnly: o.ReadOnly, Interfaces: s.described(), Results: []*Result{},
	}
	for i, p := range plan {
		one := s.try(p.check, p.on)
		r.Results = append(r.Results, one)
		if o.Progress != nil {
			o.Progress(i+1, len(plan), one)
		}
	}
	r.Canceled = s.cleanUp()
	r.Requests, r.Took = s.count, millis(time.Since(r.Started))
	o.Expect.apply(r)
	r.sum()
	return r, nil
}

// planned is a check and where it is tried.
type planned struct {
	check *Check
	on    *face // nil: the agent as a whole
}

// plan orders the checks: check by check, so that the same one on two bindings stands
// together, and those that judge the traffic last.
func (s *session) plan() (out []planned) {
	for _, late := range []bool{false, true} {
		for _, c := range Catalogue() {
			switch {
			case c.late != late, len(s.options.Only) > 0 && !slices.Contains(s.options.Only, c.ID) && !slices.Contains(s.options.Only, c.Group()):
			case !c.Each:
				out = append(out, planned{c, nil})
			default:
				for _, f := range s.faces {
					if slices.Contains(c.Needs, OnlyRPC) && f.binding != JSONRPC || slices.Contains(c.Needs, OnlyREST) && f.binding != REST {
						continue
					}
					out = append(out, planned{c, f})
				}
			}
		}
	}
	return out
}

// Catalogue lists all checks in the order in which they are tried, but for those that judge
// the traffic of the others, which come last. It is the same on every call.
func Catalogue() []*Check { return catalogue }

var catalogue = slices.Concat(
	cardChecks, cacheChecks, transportChecks, versionChecks, errorChecks, rpcChecks, restChecks,
	sendChecks, contextChecks, turnChecks, streamChecks, subscribeChecks, getChecks, listChecks, cancelChecks,
	extensionChecks, capabilityChecks, pushChecks, authChecks, isolationChecks, equalChecks, passiveChecks,
)

// ByID finds a check of the catalogue, or nil.
func ByID(id string) *Check {
	if i := slices.IndexFunc(catalogue, func(c *Check) bool { return c.ID == id }); i >= 0 {
		return catalogue[i]
	}
	return nil
}
