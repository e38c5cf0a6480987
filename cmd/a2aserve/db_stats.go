package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/app"

	"github.com/spf13/cobra"
)

// stats are what db stats counted.
type stats struct {
	Path       string                  `json:"path"`
	Bytes      int64                   `json:"bytes"`
	UsedBytes  int64                   `json:"usedBytes"`
	LogBytes   int64                   `json:"logBytes"`
	Principals int64                   `json:"principals"`
	Contexts   int64                   `json:"contexts"`
	Tasks      map[a2a.TaskState]int64 `json:"tasks"`
	Sessions   []string                `json:"sessions"`
	Each       []share                 `json:"each,omitzero"` // by principal, with the most tasks first
}

// share is one principal's part.
type share struct {
	Principal string                  `json:"principal,omitzero"`
	Anonymous bool                    `json:"anonymous,omitzero"` // callers without an identity
	Contexts  int64                   `json:"contexts"`
	Tasks     map[a2a.TaskState]int64 `json:"tasks"`
	total     int64
}

func (s share) name() string {
	if s.Anonymous {
		return "(without an identity)"
	}
	return s.Principal
}

func dbStatsCommand() *cobra.Command {
	var f dbFlags
	var who whose
	var each bool
	c := f.add(&cobra.Command{
		Use:   "stats",
		Short: "Count what the database holds, while the server runs or after it has stopped",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			id, named, err := who.id(c)
			if err != nil {
				return err
			}
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			var shares []share
			all, err := app.InspectDatabase(c.Context(), cfg, func(principal string, n app.Census) {
				if !each && !(named && principal == id) {
					return
				}
				s := share{Principal: principal, Contexts: n.Contexts, Tasks: n.Tasks, total: n.Total()}
				if principal == app.Anonymous {
					s.Principal, s.Anonymous = "", true
				}
				shares = append(shares, s)
			})
			if err != nil {
				return err
			}
			if named && len(shares) == 0 {
				return errors.New("the database knows no such caller")
			}
			slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(b.total, a.total) })
			out := stats{all.Path, all.Bytes, all.UsedBytes, all.LogBytes, all.Principals, all.Contexts, all.Tasks, all.Sessions, shares}
			return f.report(c, out, func(w io.Writer) { printStats(w, out, named && !each) })
		},
	})
	who.add(c)
	c.Flags().BoolVar(&each, "each", false, "count every caller's tasks, those with the most first")
	return c
}

func printStats(w io.Writer, s stats, oneOnly bool) {
	if !oneOnly {
		fmt.Fprintf(w, "  %-11s %s\n  %-11s %d bytes, %d of them in use, and %d in the log\n", "Database", s.Path, "Size", s.Bytes, s.UsedBytes, s.LogBytes)
		fmt.Fprintf(w, "  %-11s %d\n  %-11s %d\n  %-11s %s\n", "Callers", s.Principals, "Contexts", s.Contexts, "Tasks", states(s.Tasks))
		if len(s.Sessions) > 0 {
			fmt.Fprintf(w, "  %-11s %s\n", "Claimed", strings.Join(s.Sessions, " "))
		}
	}
	for _, e := range s.Each {
		fmt.Fprintf(w, "%s: contexts %d, tasks %s\n", e.name(), e.Contexts, states(e.Tasks))
	}
}

// states is such as "12 (completed 10, failed 2)".
func states(tasks map[a2a.TaskState]int64) string {
	var total int64
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(tasks)) {
		n := tasks[state]
		total += n
		name := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(state), "TASK_STATE_"), "_", " "))
		parts = append(parts, name+" "+strconv.FormatInt(n, 10))
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(parts, ", "))
}
