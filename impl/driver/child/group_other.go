//go:build !unix

package child

import (
	"log/slog"
	"os"
	"os/exec"
	"syscall"
)

var (
	terminate = os.Kill
	kill      = os.Kill
)

// inGroup: there are no process groups here.
func inGroup() *syscall.SysProcAttr { return nil }

// signalGroup ends the process; what it has started is not reached.
func signalGroup(c *exec.Cmd, s os.Signal) { _ = c.Process.Signal(s) }

// guard does nothing here: the processes of a server that is killed live on.
type guard struct{}

var groups guard

func (guard) add(int, *slog.Logger) {}

func (guard) remove(int) {}
