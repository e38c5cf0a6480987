package child

import "syscall"

// inGroup puts the process into a group of its own, and has the kernel end it should the
// server itself be killed.
func inGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
