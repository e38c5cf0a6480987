package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The elements of JUnit's XML that its readers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report for a build server: a suite for each interface. A failed MUST is
// a failure; a failed SHOULD or MAY is skipped with its reason, as build servers know
// no warnings, and so is a failure that was expected.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Name: "A2A " + r.Agent, Time: fmt.Sprintf("%.3f", (time.Duration(r.Took) * time.Millisecond).Seconds())}
	at := map[string]int{}
	for _, one := range r.Results {
		name := one.Binding
		if name == "" {
			name = "agent"
		}
		i, known := at[name]
		if !known {
			i = len(all.Suites)
			at[name] = i
			all.Suites = append(all.Suites, junitSuite{Name: name, Timestamp: r.Started.Format(time.RFC3339)})
		}
		s, c := &all.Suites[i], one.junit(name)
		s.Cases = append(s.Cases, c)
		s.Tests++
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	for _, s := range all.Suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Skipped += s.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Result) junit(suite string) junitCase {
	c := junitCase{Class: suite + "." + r.Group, Name: r.ID}
	about := fmt.Sprintf("%s %s: %s", r.Level, section(r.Section), r.Title)
	switch {
	case r.Failed() && r.Level == Must:
		c.Failure = &junitMessage{r.Reason, string(r.Level), about + "\n" + r.transcript()}
	case r.Failed():
		c.Skipped = &junitMessage{Message: string(r.Level) + " failed: " + r.Reason}
	case r.Verdict == Fail:
		c.Skipped = &junitMessage{Message: "known: " + r.Expected + ": " + r.Reason}
	case r.Verdict != Pass:
		c.Skipped = &junitMessage{Message: string(r.Verdict) + ": " + r.Reason}
	case r.Unexpected != "":
		c.Out = "passes, though a failure is expected: " + r.Unexpected
	}
	return c
}

// maxTranscript bounds what a failure shows of the traffic, in exchanges.
const maxTranscript = 5

// transcript is what was sent and received, last first: that is what decided.
func (r *Result) transcript() string {
	var b strings.Builder
	for i := len(r.Exchanges) - 1; i >= 0 && len(r.Exchanges)-i <= maxTranscript; i-- {
		x := r.Exchanges[i]
		fmt.Fprintf(&b, "\n> %s %s\n", x.Method, x.URL)
		for _, h := range x.Header {
			fmt.Fprintf(&b, "> %s\n", h)
		}
		if x.Body != "" {
			fmt.Fprintf(&b, "%s\n", x.Body)
		}
		if x.Error != "" {
			fmt.Fprintf(&b, "! %s\n", x.Error)
		}
		if x.Status != 0 {
			fmt.Fprintf(&b, "< %d\n", x.Status)
		}
		for _, h := range x.Answered {
			fmt.Fprintf(&b, "< %s\n", h)
		}
		if x.Answer != "" {
			fmt.Fprintf(&b, "%s\n", x.Answer)
		}
		for _, f := range x.Frames {
			fmt.Fprintf(&b, "data: %s\n", f)
		}
		if x.Ended != "" {
			fmt.Fprintf(&b, "(%s)\n", x.Ended)
		}
	}
	return b.String()
}
