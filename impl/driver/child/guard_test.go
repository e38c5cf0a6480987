//go:build unix

package child

import (
	"log/slog"
	"os/exec"
	"syscall"
	"testing"
)

// The guard is there while processes are, again when somebody has ended it, and kills those
// that it knows when the server's end of the pipe is gone. That it does so for a server that
// is killed is shown in conformance.
func TestGuard(t *testing.T) {
	g := &guard{pids: map[int]bool{}}
	log := slog.New(slog.DiscardHandler)
	sleep := func() *exec.Cmd {
		c := exec.Command("sleep", "3600")
		c.SysProcAttr = inGroup()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		g.add(c.Process.Pid, log)
		return c
	}
	first, second := sleep(), sleep()
	shell := g.cmd
	_ = shell.Process.Kill()
	_, _ = shell.Process.Wait()
	third := sleep()
	if g.cmd == nil || g.cmd == shell {
		t.Fatal("there is no new guard")
	}
	_ = second.Process.Kill()
	_ = second.Wait()
	g.remove(second.Process.Pid)
	_ = g.stdin.Close()
	if err := g.cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, c := range []*exec.Cmd{first, third} {
		if status, ok := exitStatus(c); !ok || status.Signal() != syscall.SIGKILL {
			t.Errorf("process %d ended with %v", c.Process.Pid, status)
		}
		g.remove(c.Process.Pid)
	}
	if g.cmd != nil || len(g.pids) > 0 {
		t.Error("the guard is still there")
	}
}

func exitStatus(c *exec.Cmd) (syscall.WaitStatus, bool) {
	_ = c.Wait()
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	return status, ok
}
