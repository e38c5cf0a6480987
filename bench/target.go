package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is one run.
type bench struct {
	ctx      context.Context
	o        options
	dir      string
	env      []string // more environment for the servers
	measures []*measure
}

// build makes the two servers.
func (b *bench) build() error {
	for name, args := range map[string][]string{
		"a2aserve": {"-C", "..", "build", "-o", filepath.Join(b.dir, "a2aserve"), "./cmd/a2aserve"},
		"peer":     {"build", "-o", filepath.Join(b.dir, "peer"), "./peer"},
	} {
		c := exec.CommandContext(b.ctx, "go", args...)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// target is a running server.
type target struct {
	name string
	base string // http://host:port
	cmd  *exec.Cmd
	http *http.Client
	stop func()
}

// limits are lifted, so that what is measured is the server and not its caution.
const limits = `
bind: 127.0.0.1:0
tasks: {ttl: 0s, max_per_context: 1000000, max_per_principal: 100000000}
limits: {max_streams: 100000, max_streams_per_principal: 100000, max_concurrent_requests: 100000}
agent: {driver: demo, max_sessions: 100000}
card: {name: bench, description: Is measured., version: 1.0.0, skills: [{id: echo, name: Echo, description: Says it again., tags: [echo]}]}
`

// ours starts this server, with more configuration where it is given.
func (b *bench) ours(db, more string) (*target, error) {
	if !strings.Contains(more, "log:") {
		more += "log: {level: error}\n"
	}
	// A folder of its own, as on most machines: it is watched, and each write to a store in it
	// would be looked at.
	file := filepath.Join(b.dir, "config", "bench.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(limits+more), 0o600); err != nil {
		return nil, err
	}
	t, err := b.start("a2aserve", "serve", "--config", file, "--db", db)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (b *bench) peer() (*target, error) { return b.start("peer") }

// start runs a server until its output names its address.
func (b *bench) start(name string, args ...string) (*target, error) {
	c := exec.CommandContext(b.ctx, filepath.Join(b.dir, name), args...)
	c.Env = append(append(os.Environ(), "BENCH_TOKEN="+benchToken), b.env...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			_ = c.Wait()
			return nil, fmt.Errorf("%s does not start: %s", name, errs.String())
		}
		if _, after, ok := strings.Cut(line, "http://"); ok {
			host, _, _ := strings.Cut(strings.TrimSpace(after), "/")
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			t := &target{name: name, base: "http://" + host, cmd: c, http: newHTTP()}
			t.stop = func() {
				t.http.CloseIdleConnections()
				_ = c.Process.Signal(syscall.SIGTERM)
				_ = c.Wait()
			}
			return t, t.awaken(b.ctx)
		}
	}
}

// awaken waits until requests are answered.
func (t *target) awaken(ctx context.Context) error {
	for {
		resp, err := t.http.Get(t.base + "/a2a/v1/tasks/none")
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func newHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 4096, DisableCompression: true, WriteBufferSize: 4 << 10, ReadBufferSize: 4 << 10}}
}

// rss is the memory of the server's process that is resident, in bytes.
func (t *target) rss() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of %s", t.name)
}

// cpu is the processor time that the server's process has taken.
func (t *target) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name, in brackets, may hold blanks; user and system time are the 12th and 13th after it.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("cannot read the processor time of %s", t.name)
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil // USER_HZ is 100 on Linux
}
