package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a command at work. Whoever started it reads its output, waits for it and
// closes it.
type process struct {
	cmd   *exec.Cmd
	grace time.Duration
	log   *slog.Logger

	stdin          *os.File
	stdout, stderr *os.File
	late           bool // it is gone, and what is read now is what it left in the pipe
	left           int  // bytes that may still be read then

	exited chan struct{} // closed once it is gone, with its group
	err    error         // how it ended; to be read after exited
	wg     sync.WaitGroup
}

const (
	// pipeBytes is more than a pipe holds.
	pipeBytes = 1 << 20
	// lateRead is how long a read may take once the process is gone: only a process that
	// left the group can still hold the pipe open, and nobody waits for that one.
	lateRead = 50 * time.Millisecond
)

// start runs the command. The pipes are made here and not by os/exec, whose Wait would
// wait for everybody who has inherited them.
func start(o *Options, args []string, log *slog.Logger) (*process, error) {
	p := &process{cmd: exec.Command(o.Command, args...), grace: o.StopGrace, log: log, left: pipeBytes,
		exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr = o.Dir, o.environment(), inGroup()
	var theirs [3]*os.File
	var err error
	if theirs[0], p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, theirs[1], err = os.Pipe(); err == nil {
			p.stderr, theirs[2], err = os.Pipe()
		}
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
		err = p.cmd.Start()
	}
	for _, f := range theirs {
		_ = f.Close() // of a nil file it is an error and no more
	}
	if err != nil {
		p.closeFiles()
		return nil, err
	}
	groups.add(p.cmd.Process.Pid, log)
	p.wg.Go(p.reap)
	p.wg.Go(p.listen)
	return p, nil
}

// reap waits for the process and ends what it leaves behind in its group.
func (p *process) reap() {
	p.err = p.cmd.Wait()
	signalGroup(p.cmd, kill)
	groups.remove(p.cmd.Process.Pid)
	soon := time.Now().Add(lateRead)
	_ = p.stdout.SetReadDeadline(soon)
	_ = p.stderr.SetReadDeadline(soon)
	close(p.exited)
}

// feed writes to standard input and closes it. A process that does not read is none of
// our business.
func (p *process) feed(text string) {
	p.wg.Go(func() {
		_, _ = io.WriteString(p.stdin, text)
		_ = p.stdin.Close()
	})
}

// read reads what the process writes. What is in the pipe when it ends is read as well.
func (p *process) read(b []byte) (int, error) {
	for {
		if p.late {
			if p.left <= 0 {
				return 0, io.EOF
			}
			b = b[:min(len(b), p.left)]
			_ = p.stdout.SetReadDeadline(time.Now().Add(lateRead))
		}
		n, err := p.stdout.Read(b)
		if p.late {
			p.left -= n
		}
		// The deadline may have passed while nobody was reading: that is not the end.
		if n == 0 && !p.late && errors.Is(err, os.ErrDeadlineExceeded) {
			p.late = true
			continue
		}
		return n, err
	}
}

// wait returns how the process ended.
func (p *process) wait() error {
	<-p.exited
	return p.err
}

// endWith ends the process when the task is over, and at once when ctx has ended.
func (p *process) endWith(ctx context.Context, over <-chan struct{}) {
	p.wg.Go(func() {
		select {
		case <-p.exited:
			return
		case <-over:
		case <-ctx.Done():
		}
		signalGroup(p.cmd, terminate)
		grace := time.NewTimer(p.grace)
		defer grace.Stop()
		select {
		case <-p.exited:
			return
		case <-ctx.Done():
		case <-grace.C:
			p.log.Warn("the agent's process does not end; it is killed", "after", p.grace)
		}
		signalGroup(p.cmd, kill)
	})
}

// close ends what is left of the process, and returns when nothing is.
func (p *process) close() {
	select {
	case <-p.exited:
	default:
		signalGroup(p.cmd, kill)
		<-p.exited
	}
	_ = p.stdin.Close() // whoever writes to it gives up
	p.wg.Wait()
	p.closeFiles()
}

func (p *process) closeFiles() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close()
	}
}

// listen logs what the process writes to standard error, which clients never see. What is
// beyond the rate is read and counted: a process must not wait for our log.
func (p *process) listen() {
	r := bufio.NewReaderSize(p.stderr, logLineBytes)
	var m meter
	rest := false // of a line whose beginning is logged
	for {
		line, err := r.ReadSlice('\n')
		if !rest && len(line) > 0 && m.take() {
			p.log.Info("the agent's standard error", "line", trimmed(line))
		}
		rest = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !rest {
			break
		}
	}
	if m.dropped > 0 {
		p.log.Warn("lines of the agent's standard error were left out of the log", "lines", m.dropped)
	}
}

// outcome says how a process ended, in words that a client may read.
func outcome(err error) string {
	e, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return "The agent's command ended with exit status 0"
	case !ok:
		return "The agent's command could not be run to its end"
	case e.ExitCode() >= 0:
		return fmt.Sprintf("The agent's command ended with exit status %d", e.ExitCode())
	}
	return "The agent's command was ended by a signal"
}

// trimmed is a line without its end.
func trimmed(line []byte) string {
	return strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD")
}
