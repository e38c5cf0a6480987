package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Render writes the ledger as a page of docs/. Links are relative to that folder. topics
// names the rows of spec/DIVERGENCES.md (see [Topics]).
func (l *Ledger) Render(topics map[int]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, head, l.Specification, len(l.Sections), l.Totals.Counts)
	l.summary(&b)
	l.foreign(&b)
	l.choices(&b, topics)
	l.undone(&b)
	for i, s := range l.Sections {
		if !strings.Contains(s.Number, ".") {
			l.chapter(&b, i)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

const head = `<!-- Generated from conformance/requirements.yaml by make report. Do not edit. -->

# What the specification asks, and what shows it

Version %s of the A2A specification has %d numbered sections, and in them %v.
Each is a row below, in our words, with the tests that show it, or the reason
why it has none here. Further statements that bind a server, without a keyword in capitals,
are there too, in italics; their numbers have an X. The rows add up to the sentences of
every section. A test holds all this together: it fails when a MUST has no proof, a proof is
gone, or a row disappears.

A proof is a Go test (` + "`folder.Test/case`" + `), the step of a wire vector with what must come back
(` + "`vector name: …`" + `; it runs over both bindings unless it spells HTTP), a check of
` + "`a2aserve check`" + `, or, where documentation is asked for, a chapter of it.

`

var topic = regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([^|]+) \|`)

// Topics reads the rows of spec/DIVERGENCES.md.
func Topics(divergences []byte) map[int]string {
	out := map[int]string{}
	for _, m := range topic.FindAllSubmatch(divergences, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		out[n] = string(m[2])
	}
	return out
}

// summary counts the rows by what became of them.
func (l *Ledger) summary(b *strings.Builder) {
	var shown, undone, foreign, elsewhere, further Counts
	for _, s := range l.Sections {
		for _, r := range s.Rows {
			switch {
			case r.From != Keyword:
				further.Add(r.Level)
			case len(r.Proofs) > 0:
				shown.Add(r.Level)
			case r.NotDone != "":
				undone.Add(r.Level)
			case r.Who == Server || r.Who == Both:
				foreign.Add(r.Level)
			default:
				elsewhere.Add(r.Level)
			}
		}
	}
	b.WriteString("## In numbers\n\n| | MUST | SHOULD | MAY | all |\n|---|--:|--:|--:|--:|\n")
	for _, line := range []struct {
		what string
		n    Counts
	}{
		{"shown by tests", shown},
		{"not done", undone},
		{"about servers, but does not apply to this one", foreign},
		{"about clients, bindings of others, or the specification", elsewhere},
		{"**sentences**", l.Totals.Counts},
		{"*further statements*", further},
	} {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", line.what, line.n.Must, line.n.Should, line.n.May, line.n.Sum())
	}
	b.WriteString("\n")
}

// foreign lists why statements about servers do not apply to this one.
func (l *Ledger) foreign(b *strings.Builder) {
	rows := map[string][]string{}
	var order []string
	for _, s := range l.Sections {
		for _, r := range s.Rows {
			if r.NotApplicable == "" || r.Who == Client || r.Who == Author {
				continue
			}
			reason := l.Reason(r)
			if rows[reason] == nil {
				order = append(order, reason)
			}
			rows[reason] = append(rows[reason], link(r.ID, s))
		}
	}
	b.WriteString("## What does not apply\n\n")
	for _, reason := range order {
		fmt.Fprintf(b, "- %s: %s\n", sentence(reason), strings.Join(rows[reason], ", "))
	}
	b.WriteString("\n")
}

// choices lists the rows where spec/DIVERGENCES.md has something to say.
func (l *Ledger) choices(b *strings.Builder, topics map[int]string) {
	byRow := map[int][]string{}
	var strict []string
	for _, s := range l.Sections {
		for _, r := range s.Rows {
			for _, n := range r.Diverges {
				byRow[n] = append(byRow[n], link(r.ID, s))
			}
			if r.StrictOnly {
				strict = append(strict, link(r.ID, s))
			}
		}
	}
	b.WriteString("## Where this server chooses\n\n")
	fmt.Fprintf(b, "Kept with `--strict` only, on purpose: %s.\n\n", strings.Join(strict, ", "))
	b.WriteString("The rows of [DIVERGENCES](../spec/DIVERGENCES.md) that bear on these statements:\n\n")
	for _, n := range slices.Sorted(maps.Keys(byRow)) {
		fmt.Fprintf(b, "- %d, %s: %s\n", n, topics[n], strings.Join(byRow[n], ", "))
	}
	b.WriteString("\n")
}

func (l *Ledger) undone(b *strings.Builder) {
	b.WriteString("## What is not done\n\n")
	for _, s := range l.Sections {
		for _, r := range s.Rows {
			if r.NotDone != "" {
				fmt.Fprintf(b, "- %s, %s: %s. %s.\n", link(r.ID, s), strings.ToUpper(string(r.Level)), sentence(r.Says), sentence(r.NotDone))
			}
		}
	}
	b.WriteString("\n")
}

// chapter renders a section without a dot in its number, and all below it.
func (l *Ledger) chapter(b *strings.Builder, first int) {
	top := l.Sections[first]
	end := first + 1
	for end < len(l.Sections) && strings.HasPrefix(l.Sections[end].Number, top.Number+".") {
		end++
	}
	fmt.Fprintf(b, "## %s. %s\n\n", top.Number, top.Title)
	var silent []string
	for _, s := range l.Sections[first:end] {
		if len(s.Rows) == 0 {
			silent = append(silent, s.Number)
			continue
		}
		if s.Number != top.Number {
			fmt.Fprintf(b, "### %s. %s\n\n", s.Number, s.Title)
		}
		fmt.Fprintf(b, "%s.\n\n| Row | | It says | Shown by |\n|---|---|---|---|\n", sentence(s.Counts.String()))
		for _, r := range s.Rows {
			l.row(b, r)
		}
		b.WriteString("\n")
	}
	if len(silent) > 0 {
		fmt.Fprintf(b, "Nothing is asked in %s.\n\n", strings.Join(silent, ", "))
	}
}

func (l *Ledger) row(b *strings.Builder, r Row) {
	says := sentence(r.Says)
	if r.From != Keyword {
		says = "*" + says + "*"
	}
	if r.StrictOnly {
		says += " **(with `--strict`)**"
	}
	if r.Who == Client || r.Who == Author {
		says += " (" + string(r.Who) + ")"
	}
	var shown []string
	for _, p := range r.Proofs {
		shown = append(shown, proof(p))
	}
	text := strings.Join(shown, "<br>")
	if text == "" {
		text = cmp.Or(sentence(l.Reason(r)), "not done: "+r.NotDone)
	}
	for _, n := range r.Diverges {
		text += fmt.Sprintf(" ([DIVERGENCES %d](../spec/DIVERGENCES.md))", n)
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.ID, strings.ToUpper(string(r.Level)), cell(says), cell(text))
}

// proof is a proof as readers see it: a chapter to go to, or a name to look for.
func proof(p string) string {
	if doc, ok := strings.CutPrefix(p, "doc docs/"); ok {
		file, heading, _ := strings.Cut(doc, "#")
		return fmt.Sprintf("[%s](%s#%s)", heading, file, anchor(heading))
	}
	return "`" + strings.Replace(p, "#", ": ", 1) + "`"
}

var unsafeInCell = strings.NewReplacer("|", `\|`, "\n", " ")

func cell(s string) string { return unsafeInCell.Replace(s) }

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchor is what a heading is reached by.
func anchor(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// link leads to the section of a row.
func link(id string, s Section) string {
	return fmt.Sprintf("[%s](#%s)", id, anchor(s.Number+". "+s.Title))
}
