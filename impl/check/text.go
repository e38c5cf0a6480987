package check

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Text writes the report for a terminal, or for a log: what failed with its reason, then
// the counts. With all, the other results are there too.
func (r *Report) Text(w io.Writer, colour, all bool) error {
	p := painter{bufio.NewWriter(w), colour}
	fmt.Fprintf(p, "%s at %s\n", p.paint(bold, oneLine(r.Agent)), oneLine(r.URL))
	for _, f := range r.Interfaces {
		if f.Tried {
			fmt.Fprintf(p, "  %-10s %s (%s)\n", f.Name, oneLine(f.URL), oneLine(f.Version))
		} else {
			fmt.Fprintf(p, "  %s is not tried\n", oneLine(f.Name))
		}
	}
	group := ""
	for _, one := range r.Results {
		if !all && one.Verdict != Fail && one.Unexpected == "" {
			continue
		}
		if one.Group != group {
			group = one.Group
			fmt.Fprintf(p, "\n%s\n", p.paint(bold, group))
		}
		p.result(one)
	}
	p.summary(r)
	return p.Flush()
}

// The colours, by their codes.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	grey   = "90"
)

type painter struct {
	*bufio.Writer
	colour bool
}

func (p painter) paint(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// mark is a verdict in a word of its own colour.
func (p painter) mark(one *Result) string {
	switch {
	case one.Verdict == Fail && one.Expected != "":
		return p.paint(yellow, "known")
	case one.Verdict == Fail && one.Level == Must:
		return p.paint(red, "FAIL ")
	case one.Verdict == Fail:
		return p.paint(yellow, "fail ")
	case one.Unexpected != "":
		return p.paint(yellow, "pass!")
	case one.Verdict == Pass:
		return p.paint(green, "pass ")
	case one.Verdict == Skip:
		return p.paint(grey, "skip ")
	}
	return p.paint(grey, "n/a  ")
}

func (p painter) result(one *Result) {
	where := ""
	if one.Binding != "" {
		where = ", " + one.Binding
	}
	fmt.Fprintf(p, "  %s %-6s %s %s\n", p.mark(one), one.Level, one.ID, p.paint(grey, "("+section(one.Section)+where+")"))
	fmt.Fprintf(p, "               %s\n", one.Title)
	say := func(label, s string) {
		if s != "" {
			fmt.Fprintf(p, "               %s%s\n", label, oneLine(s))
		}
	}
	say("", one.Reason)
	for _, n := range one.Notes {
		say("note: ", n)
	}
	say("known: ", one.Expected)
	if one.Unexpected != "" {
		say("it passes, though a failure is expected: ", one.Unexpected)
	}
}

// oneLine keeps what a server said from playing with the terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < 32 || r == 127 || r >= 0x80 && r < 0xa0:
			return '\ufffd'
		}
		return r
	}, s)
}

// maxReasons bounds what the summary says of skipped checks, in lines.
const maxReasons = 8

// unskipped says why checks were skipped, the commonest reason first: that is what to
// change for the next run.
func (r *Report) unskipped() (out []string) {
	count := map[string]int{}
	for _, one := range r.Results {
		if one.Verdict == Skip {
			count[one.Reason]++
		}
	}
	reasons := names(count)
	slices.SortStableFunc(reasons, func(a, b string) int { return count[b] - count[a] })
	for _, reason := range reasons[:min(len(reasons), maxReasons)] {
		out = append(out, fmt.Sprintf("%d skipped: %s", count[reason], reason))
	}
	return out
}

func (p painter) summary(r *Report) {
	s := r.Summary
	fmt.Fprintf(p, "\n%d passed, %d failed", s.Passed, s.Failed)
	for _, c := range []struct {
		n    int
		what string
	}{{s.Expected, "failed as expected"}, {s.Unexpected, "passed though a failure is expected"}, {s.Skipped, "skipped"}, {s.NotApplicable, "not applicable"}} {
		if c.n > 0 {
			fmt.Fprintf(p, ", %d %s", c.n, c.what)
		}
	}
	fmt.Fprintf(p, "; %d requests in %s\n", r.Requests, (time.Duration(r.Took) * time.Millisecond).Round(10*time.Millisecond))
	for _, reason := range r.unskipped() {
		fmt.Fprintf(p, "  %s\n", oneLine(reason))
	}
	if n := len(r.Canceled); n > 0 {
		fmt.Fprintf(p, "Canceled in the end, since they were still running: %d of its own tasks\n", n)
	}
	switch {
	case r.OK() && s.Expected > 0:
		fmt.Fprintln(p, p.paint(green, "No MUST has failed, known deviations aside."))
	case r.OK():
		fmt.Fprintln(p, p.paint(green, "No MUST has failed."))
	default:
		fmt.Fprintln(p, p.paint(red, fmt.Sprintf("%d MUST failed.", s.Must.Failed)))
	}
}
