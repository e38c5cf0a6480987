package specgen

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// fewPlaces and fewRows keep a change on a screen; JSON has all of them.
const (
	fewPlaces = 12
	fewRows   = 12
)

// sort puts what breaks somebody first and keeps the order otherwise.
func (r *Report) sort() {
	slices.SortStableFunc(r.Changes, func(a, b *Change) int {
		switch {
		case a.breaking() == b.breaking():
			return 0
		case a.breaking():
			return -1
		}
		return 1
	})
	if r.Unread == nil {
		r.Unread = []string{}
	}
	if r.Changes == nil {
		r.Changes = []*Change{}
	}
}

// JSON is the report for machines.
func (r *Report) JSON() ([]byte, error) { return encode(r) }

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "from  %s\nto    %s\n", r.From, r.To)
	clients, stored, broken := 0, 0, 0
	for _, c := range r.Changes {
		if c.Clients.Breaking {
			clients++
		}
		if c.Stored.Breaking {
			stored++
		}
		if c.breaking() {
			broken++
		}
	}
	for i, c := range r.Changes {
		if i == 0 && broken > 0 {
			fmt.Fprintf(&b, "\nBREAKING (%d)\n", broken)
		}
		if i == broken {
			fmt.Fprintf(&b, "\nCOMPATIBLE (%d)\n", len(r.Changes)-broken)
		}
		c.text(&b)
	}
	if len(r.Changes) == 0 {
		b.WriteString("\nNo difference in operations, routes, messages, fields or enums.\n")
	} else {
		fmt.Fprintf(&b, "\n%s, breaking for clients: %d, for what is stored: %d\n", counted(len(r.Changes), "change"), clients, stored)
	}
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "\nNot looked at: %s\n", u)
	}
	b.WriteString("\nA descriptor does not show the text of the specification. Read its changes, and compare\n")
	for _, p := range r.Prose {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	b.WriteString("\nNothing was changed. docs/revising.md says how to go on.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// counted is a number and a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// text writes one change, a line for each thing known of it.
func (c *Change) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n  %s %s %s\n", c.Kind, c.Name, c.Change)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(b, "    %-8s %s\n", key, value)
		}
	}
	line("was", c.Was)
	line("is", c.Is)
	line("clients", c.Clients.String())
	line("stored", c.Stored.String())
	var places []string
	for _, p := range c.Code {
		places = append(places, p.String())
	}
	for i, l := range shortened(places, fewPlaces) {
		line([]string{"code", ""}[min(i, 1)], l)
	}
	for i, l := range c.Tables {
		line([]string{"tables", ""}[min(i, 1)], l)
	}
	line("ledger", strings.Join(shortened(c.Ledger, fewRows), ", "))
}

// shortened keeps the first of many and counts the rest.
func shortened(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	return append(slices.Clone(all[:most]), fmt.Sprintf("and %d more", len(all)-most))
}

// String is a verdict with its reason.
func (v Verdict) String() string {
	word := "compatible"
	if v.Breaking {
		word = "breaking"
	}
	return word + ": " + v.Why
}

// String is a place as editors read it.
func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File + " (to be written)"
	case p.How == "text":
		return fmt.Sprintf("%s:%d (as text)", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}
