package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"a2aserve/impl/app"

	"github.com/spf13/cobra"
)

// whose are the flags that name a principal. The anonymous one has no name to type.
type whose struct {
	principal string
	anonymous bool
}

func (w *whose) add(c *cobra.Command) {
	c.Flags().StringVar(&w.principal, "principal", "", "only this caller's tasks; the `name` that the authentication gives it")
	c.Flags().BoolVar(&w.anonymous, "anonymous", false, "only the tasks of callers without an identity")
}

// id is the principal that is meant; named is false where none is.
func (w *whose) id(c *cobra.Command) (id string, named bool, err error) {
	switch {
	case w.anonymous && c.Flags().Changed("principal"):
		return "", false, usageError{errors.New("--principal and --anonymous exclude each other")}
	case w.anonymous:
		return app.Anonymous, true, nil
	case c.Flags().Changed("principal") && w.principal == "":
		return "", false, usageError{errors.New("--principal: expected a name")}
	}
	return w.principal, w.principal != "", nil
}

// pruned is what db prune did.
type pruned struct {
	Tasks     int64 `json:"tasks"`
	DryRun    bool  `json:"dryRun,omitzero"`
	Compacted bool  `json:"compacted,omitzero"`
}

func dbPruneCommand() *cobra.Command {
	var f dbFlags
	var who whose
	var olderThan time.Duration
	var all, dry, compact bool
	c := f.add(&cobra.Command{
		Use:   "prune",
		Short: "Delete finished tasks by age, or all that is known of one caller",
		Long: `Delete tasks that finished longer ago than --older-than, of one caller or of all.

With --all-of-principal everything of the caller that --principal or --anonymous names is
deleted: its tasks, the sessions that it has claimed, its name. The file is then written
anew, so that the deleted content is not in it any more; copies made earlier still have it.

The server that uses the file must be stopped. Tasks that it left unfinished count as failed.`,
		Example: `  a2aserve db prune --config a2aserve.yaml --older-than 720h --dry-run
  a2aserve db prune --config a2aserve.yaml --principal partner-7 --all-of-principal`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			id, named, err := who.id(c)
			if err != nil {
				return err
			}
			aged := c.Flags().Changed("older-than")
			switch {
			case all == aged:
				return usageError{errors.New("expected either --older-than or --all-of-principal")}
			case all && !named:
				return usageError{errors.New("--all-of-principal needs --principal or --anonymous")}
			case olderThan < 0:
				return usageError{errors.New("--older-than: expected a length of time such as 720h")}
			}
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			p := app.Pruning{Principal: id, By: time.Now().Add(-olderThan), All: all, Dry: dry, Compact: compact || all}
			n, err := app.PruneDatabase(c.Context(), cfg, p, progress(c))
			if err != nil {
				return err
			}
			return f.report(c, pruned{n, dry, p.Compact && !dry}, func(w io.Writer) {
				verb := "deleted"
				if dry {
					verb = "would be deleted"
				}
				fmt.Fprintf(w, "%d tasks %s\n", n, verb)
			})
		},
	})
	who.add(c)
	c.Flags().DurationVar(&olderThan, "older-than", 0, "delete what finished longer ago than this `time`, such as 720h")
	c.Flags().BoolVar(&all, "all-of-principal", false, "delete everything of the caller that is named")
	c.Flags().BoolVar(&dry, "dry-run", false, "only say how many tasks that would be")
	c.Flags().BoolVar(&compact, "compact", false, "write the file anew afterwards, which gives its room back")
	return c
}
