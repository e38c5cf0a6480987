package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
	"time"
)

// report is what a run found.
type report struct {
	At       time.Time  `json:"at"`
	Machine  string     `json:"machine"`
	Rounds   int        `json:"rounds"`
	Measures []*measure `json:"measures"`
}

func (b *bench) report() *report {
	for _, m := range b.measures {
		ours, peer := median(m.Took["a2aserve"]), median(m.Took["peer"])
		if ours > 0 && peer > 0 {
			m.Ratio = ours / peer
			if m.less {
				m.Ratio = peer / ours
			}
		}
	}
	return &report{At: time.Now().UTC().Truncate(time.Second), Rounds: b.o.rounds, Measures: b.measures,
		Machine: fmt.Sprintf("%d processors, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
}

// text prints a table: for each measure a line a server, medians, and the ratio.
func (r *report) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s, medians of %d rounds\n\n", r.Machine, r.Rounds)
	for _, m := range r.Measures {
		fmt.Fprintf(t, "%s\t\t\t\t\n", m.Name)
		for _, name := range sorted(m.Took) {
			ratio := ""
			if name == "a2aserve" && m.Ratio > 0 {
				ratio = fmt.Sprintf("%.2fx", m.Ratio)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", name, figure(median(m.Took[name])), m.Unit, ratio)
		}
	}
	return t.Flush()
}

// figure has three digits that count.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func (r *report) writeJSON(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
