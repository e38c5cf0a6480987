//go:build unix && !linux

package child

import "syscall"

// inGroup puts the process into a group of its own.
func inGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
