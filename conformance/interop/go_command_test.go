package interop

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// command runs the official a2a command and returns what it prints.
func command(t testing.TB, args ...string) (stdout string, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(bin, "a2a"), args...)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		return complaints.String(), err
	}
	return string(out), nil
}

// asked runs the command for JSON of type T.
func asked[T any](t testing.TB, args ...string) (v T) {
	t.Helper()
	out, err := command(t, append(args, "-o", "json")...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &v)
	}
	if err != nil {
		t.Fatalf("a2a %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
}

func TestGoCommandFindsTheServer(t *testing.T) {
	t.Parallel()
	origin := serve(t, "")
	card := asked[a2a.AgentCard](t, "discover", origin)
	if card.Name != "Interop agent" || len(card.SupportedInterfaces) != 2 {
		t.Errorf("the card prints as %+v", card)
	}
	out, err := command(t, "send", origin, "echo", "hello")
	if err != nil || !strings.Contains(out, "completed") || !strings.Contains(out, "hello") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestGoCommandTakesTheTour(t *testing.T) {
	t.Parallel()
	// The command cannot read the card of a server that asks for credentials, so it is told
	// the address and the binding, as docs/clients.md advises.
	origin := serve(t, tokens)
	for name, url := range map[string]string{"jsonrpc": origin + "/a2a", "rest": origin + "/a2a/v1"} {
		t.Run(name, func(t *testing.T) {
			as := func(who string, args ...string) []string {
				return append(args, "--transport", name, "--auth", "Bearer "+who)
			}
			asAlice := func(args ...string) []string { return as("tok-a", args...) }

			task := asked[a2a.Task](t, asAlice("send", url, "ask Which colour? [red|blue]")...)
			wantState(t, &task, a2a.TaskStateInputRequired)
			task = asked[a2a.Task](t, asAlice("send", url, "red", "--task", string(task.ID))...)
			wantState(t, &task, a2a.TaskStateCompleted)
			if got := asked[a2a.Task](t, asAlice("get", "task", url, string(task.ID), "--history", "10")...); answer(&got) != "You said: red" || len(got.History) == 0 {
				t.Errorf("the task prints as %+v", got)
			}
			if got := asked[a2a.ListTasksResponse](t, asAlice("list", "tasks", url, "--context", task.ContextID, "--limit", "1", "--with-artifacts")...); got.TotalSize != 1 || answer(got.Tasks[0]) != "You said: red" {
				t.Errorf("the list prints as %+v", got)
			}
			if out, err := command(t, asAlice("send", url, "--stream", "chunks 3 0 .")...); err != nil || !strings.Contains(out, "[artifact+] 3.") || !strings.Contains(out, "[status] completed") {
				t.Errorf("a stream prints as %v: %s", err, out)
			}
			slow := asked[a2a.Task](t, asAlice("send", url, "--immediate", "slow 600000 x")...)
			out, err := command(t, asAlice("cancel", url, string(slow.ID))...)
			if err != nil || !strings.Contains(out, "canceled") {
				t.Errorf("cancelling prints %v: %s", err, out)
			}
			if out, err = command(t, asAlice("subscribe", url, string(slow.ID))...); err != nil || !strings.Contains(out, "canceled") {
				t.Errorf("a late subscription prints %v: %s", err, out)
			}
			for what, args := range map[string][]string{
				"task not found": as("tok-b", "get", "task", url, string(task.ID)),
				"unauthorized":   as("tok-x", "list", "tasks", url),
			} {
				out, err := command(t, args...)
				told := strings.Contains(strings.ToLower(out), what) ||
					what == "unauthorized" && strings.Contains(out, "Credentials are missing or not valid")
				if err == nil || !told {
					t.Errorf("%s: %v: %s", what, err, out)
				}
			}
		})
	}
}
