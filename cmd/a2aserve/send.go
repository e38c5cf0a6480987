package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"a2aserve/gen/a2a"
	"a2aserve/impl/client"

	"github.com/spf13/cobra"
)

// sendFlags are the flags of send.
type sendFlags struct {
	caller
	contextID, taskID string
	files             []string
	block, noWait     bool
	interactive       bool
}

func sendCommand() *cobra.Command {
	var f sendFlags
	c := &cobra.Command{
		Use:   "send URL TEXT",
		Short: "Send a message to an agent and show what comes of it",
		Long: `Send a message to an agent, ours or anybody's, and show what comes of it as it comes.

The agent's card is read first, and says which interface is called. TEXT "-" is read from
standard input. The answer goes to standard output, everything else to standard error. At
a terminal the agent's questions are answered at the prompt.

The bearer token is taken from the variable A2ASERVE_TOKEN. Exit code 0 means that the task
completed, 1 that it did not, 2 a mistake on the command line, and 3 that the agent waits
for an answer.`,
		Example: `  a2aserve send http://127.0.0.1:8080 "echo hello"
  a2aserve send https://agent.example.com "summarise this" --file report.pdf
  a2aserve send http://127.0.0.1:8080 "blue" --task 01990c2e-…`,
		Args: exactly("an address", "a text"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], args[1]) },
	}
	f.register(c)
	c.Flags().StringVar(&f.contextID, "context", "", "`id` of the conversation to go on with")
	c.Flags().StringVar(&f.taskID, "task", "", "`id` of the task that the message answers")
	c.Flags().StringArrayVar(&f.files, "file", nil, "`file` to send along; may be repeated")
	c.Flags().BoolVar(&f.block, "no-stream", false, "wait for the whole answer, also where the agent streams")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "return once the task exists, and print its id")
	c.Flags().BoolVar(&f.interactive, "interactive", false, "take answers from standard input also where it is no terminal")
	return c
}

func (f *sendFlags) run(c *cobra.Command, address, text string) error {
	msg, err := message(c.InOrStdin(), text)
	if err != nil {
		return err
	}
	msg.ContextID, msg.TaskID = f.contextID, f.taskID
	for _, name := range f.files {
		b, err := os.ReadFile(name)
		if err != nil {
			return usageError{err}
		}
		kind := mime.TypeByExtension(filepath.Ext(name))
		if kind == "" {
			kind = "application/octet-stream"
		}
		msg.Parts = append(msg.Parts, a2a.Part{Raw: b, Filename: filepath.Base(name), MediaType: kind})
	}
	cl, card, err := f.dial(c, address)
	if err != nil {
		return err
	}
	streams := card.Capabilities.Streaming != nil && *card.Capabilities.Streaming && !f.block && !f.noWait
	out := f.screen(c)
	in := bufio.NewReader(c.InOrStdin())
	for {
		state, err := out.show(f.send(c.Context(), cl, msg, streams), func(taskID string) iter.Seq2[client.Frame, error] {
			return cl.Recovered(c.Context(), taskID)
		})
		if err != nil {
			return out.leave(err)
		}
		if !state.Interrupted() || text == "-" || !f.interactive && (f.asJSON || !terminal(c.InOrStdin())) {
			return out.end(state, address)
		}
		answer, err := out.ask(in)
		if err != nil {
			return out.end(state, address)
		}
		msg = client.Text(answer)
		msg.TaskID, msg.ContextID = out.taskID, out.contextID
	}
}

// send sends the message, and makes a stream of one frame of what is no stream.
func (f *sendFlags) send(ctx context.Context, cl *client.Client, msg a2a.Message, streams bool) iter.Seq2[client.Frame, error] {
	r := &a2a.SendMessageRequest{Message: msg}
	if streams {
		return cl.SendStreamingMessage(ctx, r)
	}
	return func(yield func(client.Frame, error) bool) {
		r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: f.noWait}
		got, err := cl.SendMessage(ctx, r)
		if err != nil {
			yield(client.Frame{}, err)
			return
		}
		yield(client.Single(got.Task, got.Message))
	}
}

// ask reads an answer from whoever sits there.
func (s *screen) ask(in *bufio.Reader) (string, error) {
	fmt.Fprint(s.info, s.dim("your answer> "))
	line, err := in.ReadString('\n')
	if line = strings.TrimRight(line, "\r\n"); line != "" {
		return line, nil
	}
	if err == nil {
		err = errors.New("no answer")
	}
	return "", err
}
