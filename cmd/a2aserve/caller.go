package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/client"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// tokenVariable holds the bearer token where no other variable is named. A token in an
// argument would be readable by everybody on the machine.
const tokenVariable = "A2ASERVE_TOKEN"

// caller are the flags of every command that calls an agent.
type caller struct {
	binding, tokenEnv string
	extensions        []string
	headers           []string
	asJSON, raw       bool
}

func (f *caller) register(c *cobra.Command) {
	c.Flags().StringVar(&f.binding, "binding", "", "`jsonrpc or rest`; the card's first choice where it is not given")
	c.Flags().StringVar(&f.tokenEnv, "token-env", "", "`variable` that holds the bearer token ("+tokenVariable+")")
	c.Flags().StringArrayVar(&f.extensions, "extension", nil, "`URI` of an extension to ask for; may be repeated")
	c.Flags().StringArrayVar(&f.headers, "header", nil, "`name: value` to send with each request; may be repeated")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print what the agent sends as JSON, a document a line")
	c.Flags().BoolVar(&f.raw, "raw", false, "show what goes over the wire, on standard error")
}

// dial reads the card and picks the interface.
func (f *caller) dial(c *cobra.Command, address string) (*client.Client, *a2a.AgentCard, error) {
	binding, ok := map[string]string{"": "", "jsonrpc": client.JSONRPC, "rest": client.REST}[strings.ToLower(f.binding)]
	if !ok {
		return nil, nil, usageError{fmt.Errorf("--binding is jsonrpc or rest, not %q", f.binding)}
	}
	o := client.Options{Token: os.Getenv(cmp.Or(f.tokenEnv, tokenVariable)), Extensions: f.extensions, Header: http.Header{}}
	if f.tokenEnv != "" && o.Token == "" {
		return nil, nil, usageError{fmt.Errorf("the variable %s, named by --token-env, is not set", f.tokenEnv)}
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, nil, usageError{fmt.Errorf("--header is name: value, not %q", h)}
		}
		o.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if f.raw {
		o.Raw = c.ErrOrStderr()
	}
	return client.Dial(c.Context(), address, binding, o)
}

// exactly wants that many arguments, and names them where they are missing.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usageError{fmt.Errorf("%s takes %s", c.CommandPath(), strings.Join(names, " and "))}
		}
		return nil
	}
}

// terminal reports whether somebody sits at a stream.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Outcomes of a task that are no success, as errors with exit codes of their own.
var (
	errNotDone = errors.New("the task did not complete")
	errAsks    = errors.New("the agent waits for an answer")
)

// exitAsks is for scripts: the task is not over, and somebody has to answer.
const exitAsks = 3

// outcome is the error of a task's last known state.
func outcome(s a2a.TaskState) error {
	switch {
	case s.Interrupted():
		return errAsks
	case s.Terminal() && s != a2a.TaskStateCompleted:
		return errNotDone
	}
	return nil
}

// message makes the message to send. "-" stands for standard input.
func message(in io.Reader, text string) (a2a.Message, error) {
	if text == "-" {
		b, err := io.ReadAll(in)
		if err != nil {
			return a2a.Message{}, fmt.Errorf("standard input: %w", err)
		}
		text = string(b)
	}
	return client.Text(text), nil
}
