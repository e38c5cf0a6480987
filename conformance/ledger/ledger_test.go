package ledger

import (
	"strings"
	"testing"
)

const small = `specification: "9.9"
totals: {sections: 4, must: 2, may: 1}
reasons: {push: not offered}
sections:
  - {section: "1", title: First}
  - section: "1.1"
    title: Below
    counts: {must: 2, may: 1}
    rows:
      - {id: R-1.1-01, level: must, says: a | b, proofs: ["impl/x.TestX/a|b", "vector v#GetTask want {}"], diverges: [7], strict_only: true}
      - {id: R-1.1-02, level: must, who: client, says: c, not_applicable: push}
      - {id: R-1.1-03, level: may, says: d, not_done: nobody asks for it}
      - {id: R-1.1-X01, level: should, from: proto, says: e, proofs: ["check C-1", "doc docs/x.md#Who may do"]}
  - {section: "2", title: Second}
  - {section: A, title: Appendix}
`

func parse(t *testing.T, doc string) *Ledger {
	t.Helper()
	l, err := Parse("small.yaml", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Whatever is lost, doubled or misspelt in a ledger that was good is found.
func TestProblems(t *testing.T) {
	if found := parse(t, small).Problems(); len(found) > 0 {
		t.Fatalf("a good ledger: %q", found)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"a row less", "      - {id: R-1.1-03, level: may, says: d, not_done: nobody asks for it}\n", "", "§1.1: its rows come to 2 MUST, the specification has 2 MUST, 1 MAY"},
		{"a row and its count less", "counts: {must: 2, may: 1}\n    rows:\n      - {id: R-1.1-01, level: must,", "counts: {must: 1, may: 1}\n    rows:\n      - {id: R-1.1-X02, from: lower, level: must,", "the sections come to 4 with 1 MUST, 1 MAY; the totals say 4 with 2 MUST, 1 MAY"},
		{"a section less", "  - {section: \"2\", title: Second}\n", "", "the totals say 4"},
		{"a gap", `"2"`, `"3"`, "§3: number 2 was expected here"},
		{"no parent", `  - {section: "1", title: First}`, `  - {section: "1", title: First}` + "\n" + `  - {section: "4.1", title: X}`, "§4.1: there is no §4 above it"},
		{"no title", "title: Second", `title: ""`, "§2 has no title"},
		{"an id of another section", "R-1.1-02", "R-1.2-02", `§1.1: "R-1.2-02" is no id of this section`},
		{"an id twice", "R-1.1-02", "R-1.1-01", "R-1.1-01 is there twice"},
		{"an X that is counted", "R-1.1-02", "R-1.1-X02", "ids with an X are for statements without a keyword"},
		{"a level", "level: may", "level: perhaps", `R-1.1-03: level "perhaps"`},
		{"who", "who: client", "who: god", `R-1.1-02: who is "god"`},
		{"from", "from: proto", "from: nowhere", `R-1.1-X01: from "nowhere"`},
		{"nothing said", "says: c", `says: ""`, "R-1.1-02 says nothing"},
		{"a MUST without a proof", ", not_applicable: push", "", "R-1.1-02: neither a proof nor a reason"},
		{"a MUST left undone", "not_applicable: push", "not_done: it is hard", "R-1.1-02: a MUST cannot be left undone"},
		{"a proof and a reason", "not_applicable: push", `not_applicable: push, proofs: ["check C-2"]`, "R-1.1-02: more than one of"},
		{"an unknown reason", "not_applicable: push", "not_applicable: grpc", `R-1.1-02: no reason is named "grpc"`},
		{"a reason that nobody gives", "not_applicable: push", "not_applicable: it is so", `reason "push" is given by no row`},
		{"strict without a why", "diverges: [7], ", "", "R-1.1-01: strict_only needs a row"},
	} {
		doc := strings.Replace(small, c.from, c.to, 1)
		if doc == small {
			t.Fatalf("%s: nothing was changed", c.name)
		}
		if found := strings.Join(parse(t, doc).Problems(), "\n"); !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %s", c.name, found, c.want)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	for _, bad := range []string{"colour: red\n" + small, strings.Replace(small, "says: c", "sais: c", 1), strings.Replace(small, "may: 1}\nreasons", "might: 1}\nreasons", 1)} {
		if _, err := Parse("small.yaml", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "small.yaml: [") {
			t.Errorf("got %v", err)
		}
	}
}

func TestRender(t *testing.T) {
	page := parse(t, small).Render(Topics([]byte("| # | Topic |\n|---|---|\n| 7 | no version | x |\n")))
	for _, want := range []string{
		"Version 9.9 of the A2A specification has 4 numbered sections, and in them 2 MUST, 1 MAY.",
		"| shown by tests | 1 | 0 | 0 | 1 |", "| not done | 0 | 0 | 1 | 1 |", "| **sentences** | 2 | 0 | 1 | 3 |", "| *further statements* | 0 | 1 | 0 | 1 |",
		"Kept with `--strict` only, on purpose: [R-1.1-01](#11-below).", "- 7, no version: [R-1.1-01](#11-below)",
		"- [R-1.1-03](#11-below), MAY: D. Nobody asks for it.",
		"### 1.1. Below\n\n2 MUST, 1 MAY.\n\n| Row |",
		"| R-1.1-01 | MUST | A \\| b **(with `--strict`)** | `impl/x.TestX/a\\|b`<br>`vector v: GetTask want {}` ([DIVERGENCES 7](../spec/DIVERGENCES.md)) |",
		"| R-1.1-02 | MUST | C (client) | Not offered |", "| R-1.1-X01 | SHOULD | *E* | `check C-1`<br>[Who may do](x.md#who-may-do) |",
		"Nothing is asked in 1.\n", "## A. Appendix\n\nNothing is asked in A.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not in\n%s", want, page)
		}
	}
}
