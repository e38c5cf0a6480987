// Command a2aserve serves an agent over the Agent2Agent protocol 1.0.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"a2aserve/impl/card"
	"a2aserve/impl/config"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailure = 1 // something failed at run time
	exitUsage   = 2 // the command line or the configuration is wrong
)

func main() {
	// The first signal asks for a drain; a second one ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command with its exit code. Tests call it instead of main, which ends the
// process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := root()
	c.SetArgs(args)
	c.SetOut(stdout)
	c.SetErr(stderr)
	err := c.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "a2aserve: %v\n", err)
	if wrongUsage(err) {
		return exitUsage
	}
	if errors.Is(err, errAsks) {
		return exitAsks
	}
	return exitFailure
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// wrongUsage tells what a restart cannot mend from what it may: supervisors stop trying
// on exit code 2.
func wrongUsage(err error) bool {
	if _, ok := errors.AsType[usageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[config.Errors](err); ok {
		return true
	}
	_, ok := errors.AsType[*card.InvalidError](err)
	return ok
}

func root() *cobra.Command {
	// cobra would print errors and usage itself, for every error and without an exit code.
	c := &cobra.Command{
		Use:           "a2aserve",
		Short:         "Serve an agent over the Agent2Agent protocol 1.0",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see %s --help", args[0], c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.CompletionOptions.HiddenDefaultCmd = true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	c.AddCommand(serveCommand(), cardCommand(), validateCommand(), checkCommand(), dbCommand(), sendCommand(), tasksCommand(), versionCommand())
	return c
}

// noArgs catches a file name without --config, which would serve the demo agent instead.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes flags only, not %q", c.CommandPath(), args[0])}
	}
	return nil
}

// loadConfig reads the file, or stands in the demo agent where none is named. Flags that
// were given override it.
func loadConfig(path string, overrides []config.Override) (*config.Config, error) {
	if path == "" {
		return config.Default(overrides...)
	}
	c, err := config.Load(path, overrides...)
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return nil, usageError{err}
	}
	return c, err
}
