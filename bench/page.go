package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writePage writes the results as Markdown, and the ratios as a picture beside it.
func (r *report) writePage(path string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Performance\n\nWritten by `bench`; `make bench` makes it anew. %s; medians of %d rounds, taken %s.\n\n", r.Machine, r.Rounds, r.At.Format("2006-01-02"))
	b.WriteString("`a2aserve` keeps every transition on disk before it is told (`synchronous=FULL`). `peer` is an\nagent on the official Go SDK that emits the same events and keeps its tasks in memory. Both are\ndriven by turns, by the same client on the same machine.\n\n")
	picture := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".svg"
	fmt.Fprintf(&b, "![a2aserve against the peer](%s)\n", picture)
	for _, m := range r.Measures {
		fmt.Fprintf(&b, "\n## %s\n\n", m.Name)
		if m.Aim != "" {
			fmt.Fprintf(&b, "Aim: %s.\n\n", m.Aim)
		}
		fmt.Fprintf(&b, "| | %s | lowest and highest round |\n|---|---|---|\n", m.Unit)
		for _, name := range sorted(m.Took) {
			low, high := bounds(m.Took[name])
			fmt.Fprintf(&b, "| %s | %s | %s – %s |\n", name, figure(median(m.Took[name])), figure(low), figure(high))
		}
		if m.Ratio > 0 {
			fmt.Fprintf(&b, "\n%.2f times the peer.\n", m.Ratio)
		}
		if m.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", m.Note)
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(path), picture), []byte(r.picture()), 0o644)
}

func bounds(v []float64) (low, high float64) {
	for i, x := range v {
		if i == 0 || x < low {
			low = x
		}
		high = max(high, x)
	}
	return low, high
}

// picture is a bar for each measure that has a ratio; the line is the peer.
func (r *report) picture() string {
	const row, left, unit, width = 26, 250, 70, 760
	var rows []*measure
	for _, m := range r.Measures {
		if m.Ratio > 0 {
			rows = append(rows, m)
		}
	}
	height := row*len(rows) + 40
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for i, m := range rows {
		y := row * i
		long := min(m.Ratio*unit, width-left-60)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#222">%s</text>`, left-8, y+26, m.Name)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.0f" height="18" fill="#2a6f97"/>`, left, y+13, long)
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" fill="#222">%.1fx</text>`+"\n", left+long+6, y+26, m.Ratio)
	}
	fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="6" y2="%d" stroke="#c1121f"/><text x="%d" y="%d" fill="#c1121f">the official Go SDK, in memory</text>`+"\n</svg>\n",
		left+unit, left+unit, height-22, left+unit+6, height-8)
	return b.String()
}
