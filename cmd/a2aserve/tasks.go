package main

import (
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/client"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

func tasksCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "tasks",
		Short: "List, read, cancel and follow the tasks of an agent",
		Long: `List, read, cancel and follow the tasks that an agent has for the caller.

The bearer token is taken from the variable A2ASERVE_TOKEN, as with send.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(tasksListCommand(), tasksGetCommand(), tasksCancelCommand(), tasksSubscribeCommand())
	return c
}

func tasksListCommand() *cobra.Command {
	var (
		f                caller
		contextID, state string
		all              bool
	)
	c := &cobra.Command{
		Use:   "list URL",
		Short: "List the caller's tasks, newest first",
		Args:  exactly("an address"),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := taskState(state)
			if err != nil {
				return err
			}
			cl, _, err := f.dial(c, args[0])
			if err != nil {
				return err
			}
			return f.list(c, cl, a2a.ListTasksRequest{ContextID: contextID, Status: st}, all)
		},
	}
	f.register(c)
	c.Flags().StringVar(&contextID, "context", "", "only tasks of the conversation with this `id`")
	c.Flags().StringVar(&state, "state", "", "only tasks in this `state`, such as working")
	c.Flags().BoolVar(&all, "all", false, "read all pages, not only the first")
	return c
}

// taskState reads a state as people write it, or as the protocol does.
func taskState(text string) (a2a.TaskState, error) {
	if text == "" {
		return "", nil
	}
	name := strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(text))
	st := a2a.TaskState("TASK_STATE_" + strings.TrimPrefix(name, "TASK_STATE_"))
	if !st.Valid() {
		var known []string
		for _, s := range a2a.TaskStates {
			known = append(known, strings.ReplaceAll(plainState(s), " ", "-"))
		}
		return "", usageError{fmt.Errorf("--state is one of %s, not %q", strings.Join(known, ", "), text)}
	}
	return st, nil
}

func (f *caller) list(c *cobra.Command, cl *client.Client, r a2a.ListTasksRequest, all bool) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for first := true; ; first = false {
		page, err := cl.ListTasks(c.Context(), &r)
		if err != nil {
			return err
		}
		if first && !f.asJSON && len(page.Tasks) > 0 {
			fmt.Fprintln(w, "TASK\tSTATE\tSINCE\tCONTEXT")
		}
		for _, t := range page.Tasks {
			if f.asJSON {
				if err := printJSON(c, t); err != nil {
					return err
				}
				continue
			}
			since := t.Status.Timestamp.Local().Format(time.DateTime)
			if t.Status.Timestamp.IsZero() {
				since = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, plainState(t.Status.State), since, t.ContextID)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		more := page.NextPageToken != "" && page.NextPageToken != r.PageToken
		if r.PageToken = page.NextPageToken; more && all {
			continue
		}
		if !f.asJSON {
			fmt.Fprintf(c.ErrOrStderr(), "%d in all\n", page.TotalSize)
			if more {
				fmt.Fprintln(c.ErrOrStderr(), "there are more; see --all")
			}
		}
		return nil
	}
}

// printJSON prints a document on a line of its own.
func printJSON(c *cobra.Command, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err == nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", b)
	}
	return err
}

func tasksGetCommand() *cobra.Command {
	var f caller
	c := &cobra.Command{
		Use:   "get URL TASK",
		Short: "Show a task with its history and artifacts",
		Args:  exactly("an address", "a task's id"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, _, err := f.dial(c, args[0])
			if err != nil {
				return err
			}
			t, err := cl.GetTask(c.Context(), &a2a.GetTaskRequest{ID: args[1]})
			if err != nil {
				return err
			}
			return f.task(c, t)
		},
	}
	f.register(c)
	return c
}

func (f *caller) task(c *cobra.Command, t *a2a.Task) error {
	if f.asJSON {
		return printJSON(c, t)
	}
	b, err := json.Marshal(t, json.Deterministic(true), jsontext.Multiline(true))
	if err == nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", b)
	}
	return err
}

func tasksCancelCommand() *cobra.Command {
	var f caller
	c := &cobra.Command{
		Use:   "cancel URL TASK",
		Short: "Cancel a task",
		Args:  exactly("an address", "a task's id"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, _, err := f.dial(c, args[0])
			if err != nil {
				return err
			}
			t, err := cl.CancelTask(c.Context(), &a2a.CancelTaskRequest{ID: args[1]})
			if err != nil {
				return err
			}
			if f.asJSON {
				return printJSON(c, t)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "task %s is %s\n", t.ID, plainState(t.Status.State))
			return err
		},
	}
	f.register(c)
	return c
}

func tasksSubscribeCommand() *cobra.Command {
	var f caller
	c := &cobra.Command{
		Use:   "subscribe URL TASK",
		Short: "Follow a task that is under way, until it ends or asks for something",
		Args:  exactly("an address", "a task's id"),
		RunE: func(c *cobra.Command, args []string) error {
			cl, _, err := f.dial(c, args[0])
			if err != nil {
				return err
			}
			out := f.screen(c)
			state, err := out.show(cl.SubscribeToTask(c.Context(), &a2a.SubscribeToTaskRequest{ID: args[1]}),
				func(id string) iter.Seq2[client.Frame, error] { return cl.Recovered(c.Context(), id) })
			if err != nil {
				return out.leave(err)
			}
			return out.end(state, args[0])
		},
	}
	f.register(c)
	return c
}
