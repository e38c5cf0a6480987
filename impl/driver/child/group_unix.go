//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// signalGroup signals the process and all that it has started and that stayed in its
// group. That nobody is left is no error.
func signalGroup(c *exec.Cmd, s syscall.Signal) { _ = syscall.Kill(-c.Process.Pid, s) }
