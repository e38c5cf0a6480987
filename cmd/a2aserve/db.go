package main

import (
	"fmt"

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
	c.AddCommand(dbCheckCommand())
	return c
}

// checked is what db check found, for machines.
type checked struct {
	Path  string `json:"path"`
	Whole bool   `json:"whole"`
	Error string `json:"error,omitzero"`
}

func dbCheckCommand() *cobra.Command {
	var file, db string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Examine every page, index and reference of the database",
		Long: `Examine every page, index and reference of the database, which takes seconds per GB.

The server that uses the file must be stopped. Exit code 0 means that the file is whole.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var overrides []config.Override
			if c.Flags().Changed("db") {
				overrides = append(overrides, config.Override{Key: "store.path", Value: db, From: "--db"})
			}
			cfg, err := loadConfig(file, overrides)
			if err != nil {
				return err
			}
			err = app.CheckDatabase(c.Context(), cfg, func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) })
			out := checked{Path: cfg.Store.Path, Whole: err == nil}
			if err != nil {
				out.Error = err.Error()
			}
			if !asJSON {
				if err == nil {
					fmt.Fprintf(c.OutOrStdout(), "%s is whole\n", out.Path)
				}
				return err
			}
			b, encoding := json.Marshal(&out)
			if encoding != nil {
				return encoding
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n", b)
			return err
		},
	}
	c.Flags().StringVar(&file, "config", "", "`file` with the configuration, in YAML")
	c.Flags().StringVar(&db, "db", "", "`path` of the database")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
