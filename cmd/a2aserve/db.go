package main

import (
	"errors"
	"fmt"
	"io"

	"a2aserve/impl/app"
	"a2aserve/impl/config"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

func dbCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "db",
		Short: "Look after the database of tasks",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(dbBackupCommand(), dbCheckCommand(), dbStatsCommand(), dbPruneCommand(), dbReleaseCommand())
	return c
}

// dbFlags are the flags of every db command.
type dbFlags struct {
	config, db string
	json       bool
}

func (f *dbFlags) add(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&f.config, "config", "", "`file` with the configuration, in YAML")
	c.Flags().StringVar(&f.db, "db", "", "`path` of the database")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func (f *dbFlags) load(c *cobra.Command) (*config.Config, error) {
	var overrides []config.Override
	if c.Flags().Changed("db") {
		overrides = append(overrides, config.Override{Key: "store.path", Value: f.db, From: "--db"})
	}
	return loadConfig(f.config, overrides)
}

// report prints a result: v for machines, text for people.
func (f *dbFlags) report(c *cobra.Command, v any, text func(io.Writer)) error {
	if !f.json {
		text(c.OutOrStdout())
		return nil
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", b)
	return err
}

// progress tells of what takes long. It is no result, so it goes where logs go.
func progress(c *cobra.Command) func(string) {
	return func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) }
}

// oneArg wants exactly one argument, and says which.
func oneArg(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usageError{fmt.Errorf("%s takes one argument, %s; found %d", c.CommandPath(), name, len(args))}
		}
		return nil
	}
}

// checked is what db check found.
type checked struct {
	Path  string `json:"path"`
	Whole bool   `json:"whole"`
	Error string `json:"error,omitzero"`
}

func dbCheckCommand() *cobra.Command {
	var f dbFlags
	return f.add(&cobra.Command{
		Use:   "check",
		Short: "Examine every page, index and reference of the database",
		Long: `Examine every page, index and reference of the database, which takes seconds per GB.

The server that uses the file must be stopped. Exit code 0 means that the file is whole.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			err = app.CheckDatabase(c.Context(), cfg, progress(c))
			out := checked{Path: cfg.Store.Path, Whole: err == nil}
			if err != nil {
				out.Error = err.Error()
			}
			return errors.Join(err, f.report(c, &out, func(w io.Writer) {
				if err == nil {
					fmt.Fprintf(w, "%s is whole\n", out.Path)
				}
			}))
		},
	})
}

// copied is what db backup made.
type copied struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes int64  `json:"bytes"`
}

func dbBackupCommand() *cobra.Command {
	var f dbFlags
	return f.add(&cobra.Command{
		Use:   "backup DEST",
		Short: "Copy the database while the server runs, or after it has stopped",
		Long: `Copy the database as it is at one moment, while the server runs or after it has stopped.

The copy is checked, page by page, and only then gets its name; DEST must not exist. To go
back to a copy, stop the server, put the copy in the place of the database, and remove the
files beside it that end in -wal and -shm.`,
		Example: `  a2aserve db backup --config a2aserve.yaml /backup/tasks-$(date +%F).db`,
		Args:    oneArg("the path of the copy"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			bytes, err := app.BackupDatabase(c.Context(), cfg, args[0], progress(c))
			if err != nil {
				return err
			}
			return f.report(c, copied{cfg.Store.Path, args[0], bytes}, func(w io.Writer) {
				fmt.Fprintf(w, "%s is a whole copy, %d bytes\n", args[0], bytes)
			})
		},
	})
}

// released is what db release did.
type released struct {
	Session string `json:"session"`
	Held    bool   `json:"held"`
}

func dbReleaseCommand() *cobra.Command {
	var f dbFlags
	return f.add(&cobra.Command{
		Use:   "release SESSION",
		Short: "Free the session of a one-session agent from the context that has claimed it",
		Long: `Free the session of an agent that has one conversation only, so that the next caller's
context may claim it. "a2aserve db stats" lists the sessions that are claimed.

The server that uses the file must be stopped.`,
		Args: oneArg("the id of the session"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := f.load(c)
			if err != nil {
				return err
			}
			held, err := app.ReleaseSession(c.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			err = f.report(c, released{args[0], held}, func(w io.Writer) {
				if held {
					fmt.Fprintf(w, "session %s is free\n", args[0])
				}
			})
			if err == nil && !held {
				err = fmt.Errorf("no context has claimed a session %q", args[0])
			}
			return err
		},
	})
}
