// Command specgen generates spec/ and gen/: see the go:generate lines in tools.go.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"a2aserve/impl/specgen"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "specgen:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o specgen.Options
	root := &cobra.Command{Use: "specgen", Short: "Generate spec/ and gen/", SilenceUsage: true, SilenceErrors: true}
	root.PersistentFlags().StringVar(&o.Root, "root", ".", "the module's root")
	root.PersistentFlags().StringVar(&o.Out, "to", "", "write below this folder instead of the root")

	var m specgen.Models
	models := &cobra.Command{
		Use: "models", Short: "Generate the Go types of a JSON Schema file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Tools.Dir = o.Root
			return specgen.GenerateModels(cmd.Context(), o, m)
		},
	}
	models.Flags().StringVar(&m.Schema, "schema", "", "the schema, relative to the root")
	models.Flags().StringVar(&m.Package, "package", "", "the Go package")
	models.Flags().StringVar(&m.Out, "out", "", "the Go file, relative to the root")
	models.Flags().StringVar(&m.Doc, "doc", "", "the package comment, without \"Package name\"")
	for _, f := range []string{"schema", "package", "out"} {
		_ = models.MarkFlagRequired(f) // cannot fail: the flag is there
	}
	var schema, page string
	events := &cobra.Command{
		Use: "events", Short: "Generate the page about the agents' events", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return specgen.GenerateEventDoc(o, schema, page) },
	}
	events.Flags().StringVar(&schema, "schema", "spec/events.schema.json", "the schema, relative to the root")
	events.Flags().StringVar(&page, "out", "docs/events.md", "the page, relative to the root")
	protocol := &cobra.Command{
		Use: "protocol", Short: "Generate what comes from the protocol's definition", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Tools.Dir = o.Root
			undescribed, err := specgen.Generate(cmd.Context(), o)
			for _, name := range undescribed {
				fmt.Fprintln(cmd.ErrOrStderr(), "specgen: spec/descriptions.yaml says nothing of", name)
			}
			return err
		},
	}
	protocol.Flags().StringVar(&o.Proto, "proto", "", "an a2a.proto to generate from, instead of the pinned descriptor")
	root.AddCommand(protocol, models, events, diffCommand(&o))
	return root
}

// diffCommand prints what a revision does, before anything is changed.
func diffCommand(o *specgen.Options) *cobra.Command {
	var d specgen.DiffOptions
	var format string
	diff := &cobra.Command{
		Use: "diff", Short: "Say what a revision of the protocol's definition does", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "text" && format != "json" {
				return fmt.Errorf("format is %q, not text or json", format)
			}
			d.Root = o.Root
			r, err := specgen.Diff(cmd.Context(), d)
			if err != nil {
				return err
			}
			if format == "text" {
				return r.WriteText(cmd.OutOrStdout())
			}
			b, err := r.JSON()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(b)
			return err
		},
	}
	diff.Flags().StringVar(&d.Proto, "proto", "", "the new revision: an a2a.proto")
	diff.Flags().StringVar(&d.Module, "module", "", "the new revision: a version of the official Go module (default: the one in go.mod)")
	diff.Flags().StringVar(&d.From, "from", "", "the old revision: a version or an a2a.proto (default: the one in spec/REVISION)")
	diff.Flags().StringVar(&format, "format", "text", "text or json")
	return diff
}
