//go:build unix

package child

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// guardScript kills the groups that it has been told of once its standard input ends, which
// it does when the server is gone, however that came. The kernel alone does not: what it
// sends when a parent dies reaches the child and nobody the child has started.
const guardScript = `trap '' HUP INT TERM
while read -r op pid; do
	case $op in
	+) set -- "$@" "$pid" ;;
	-) for p; do shift; [ "$p" = "$pid" ] || set -- "$@" "$p"; done ;;
	esac
done
for p; do kill -s KILL -- "-$p"; done`

// guard is a shell beside the server that outlives it for a moment. It is there while
// there are processes.
type guard struct {
	mu    sync.Mutex // guards what follows
	pids  map[int]bool
	cmd   *exec.Cmd // nil: none runs
	stdin *os.File
}

// groups is the guard of this server's processes: one is enough for all drivers.
var groups = guard{pids: map[int]bool{}}

// add has the guard end the process's group if the server does not. Without a shell, as in
// a container that holds nothing else, the group is left to whoever ends the container.
func (g *guard) add(pid int, log *slog.Logger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pids[pid] = true
	if g.cmd != nil && g.say("+", pid) == nil {
		return
	}
	g.stop() // it has been ended from outside
	if err := g.start(); err != nil {
		log.Debug("nothing would end the agent's processes if the server were killed", "error", err)
	}
}

// remove is told that a group is no more.
func (g *guard) remove(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, pid)
	if len(g.pids) == 0 || g.cmd != nil && g.say("-", pid) != nil {
		g.stop()
	}
}

// start runs the shell, in a group of its own: what is typed at the server's terminal is
// not for it. g.mu is held, as for what follows.
func (g *guard) start() error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "a2aserve-guard")
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.SysProcAttr = "/", []string{}, in, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return err
	}
	g.cmd, g.stdin = cmd, out
	for pid := range g.pids {
		if err := g.say("+", pid); err != nil {
			g.stop()
			return err
		}
	}
	return nil
}

// say tells the shell about a group. One that does not read is as good as none.
func (g *guard) say(op string, pid int) error {
	_ = g.stdin.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := fmt.Fprintln(g.stdin, op, pid)
	return err
}

// stop ends the shell without its doing anything.
func (g *guard) stop() {
	if g.cmd == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.stdin.Close()
	g.cmd = nil
}
