package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// logs collect a process's logs, and lets a test wait for a line of them.
type logs struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait returns once the logs hold text n times.
func (l *logs) wait(t *testing.T, text string, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); strings.Count(l.String(), text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the logs have no %q (%d):\n%s", text, n, l)
		}
	}
}

const reloadable = `bind: 127.0.0.1:0
bearer_token: TOKEN
store: {path: "DB"}
agent: {driver: demo}
limits: {keep_alive: 20ms}
shutdown_timeout: 100ms
card: {name: NAME, description: D, version: "1", skills: [{id: a, name: A, description: A}]}
EXTRA`

// configured writes the file as tools do that deploy: another file, renamed over it.
func configured(t *testing.T, path, name, token, extra string) {
	t.Helper()
	db := filepath.Join(filepath.Dir(path), "tasks.db")
	write(t, path+".tmp", strings.NewReplacer("TOKEN", token, "DB", db, "NAME", name, "EXTRA", extra).Replace(reloadable))
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

// open starts a streamed turn and returns its lines.
func open(t *testing.T, url, token, text string) *bufio.Reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/message:stream",
		strings.NewReader(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"`+text+`"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("stream: %d %s", resp.StatusCode, b)
	}
	return bufio.NewReader(resp.Body)
}

// until reads lines up to one that holds text.
func until(t *testing.T, lines *bufio.Reader, text string) (read string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if read += line; strings.Contains(line, text) {
			return read
		}
		if err != nil {
			t.Fatalf("the stream ended with %v before %q:\n%s", err, text, read)
		}
	}
}

// status is the answer to a list with a token, and name the card's.
func status(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/tasks", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// A changed file, and SIGHUP, bring a new card and a new token, while a stream that was
// opened before goes on; a file with mistakes changes nothing, and each is named.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a2aserve.yaml")
	configured(t, file, "First", "tok-1", "")
	s := startServer(t, "--config", file)
	card, rest := s.field(t, "Agent Card"), s.field(t, "HTTP+JSON")
	stream := open(t, rest, "tok-1", "slow 600000 x")
	until(t, stream, "TASK_STATE_WORKING")

	configured(t, file, "Second", "tok-2", "")
	s.logs.wait(t, "configuration reloaded", 1)
	if _, body := call(t, "GET", card, ""); !strings.Contains(body, `"name":"Second"`) {
		t.Errorf("the card after the file has changed: %s", body)
	}
	if a, b := status(t, rest, "tok-1"), status(t, rest, "tok-2"); a != 401 || b != 200 {
		t.Errorf("the old token gives %d, the new one %d", a, b)
	}
	until(t, stream, ": ") // a comment: the stream is alive

	configured(t, file, "Third", "tok-3", "bnd: x\nlimits: {max_depth: 1}\n")
	s.logs.wait(t, "the new configuration is refused", 1)
	for _, want := range []string{"bnd: unknown key", "a2aserve.yaml:8"} {
		if !strings.Contains(s.logs.String(), want) {
			t.Errorf("the logs do not hold %q:\n%s", want, s.logs)
		}
	}
	if got := status(t, rest, "tok-2"); got != 200 {
		t.Errorf("after a file with mistakes the token gives %d", got)
	}

	configured(t, file, "Fourth", "tok-4", "tasks: {ttl: 1h}\nreload: {watch: false}\n")
	s.logs.wait(t, "configuration reloaded", 2)
	if !strings.Contains(s.logs.String(), `"keys":"reload.watch tasks.ttl"`) {
		t.Errorf("what waits for the next start is not named:\n%s", s.logs)
	}
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.logs.wait(t, "configuration reloaded", 3)
	if _, body := call(t, "GET", card, ""); !strings.Contains(body, `"name":"Fourth"`) {
		t.Errorf("the card after SIGHUP: %s", body)
	}
	if strings.Contains(s.logs.String(), "tok-") {
		t.Errorf("a token is in the logs:\n%s", s.logs)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.logs)
	}
	until(t, stream, "TASK_STATE_FAILED") // the drain's last frame
}

// A file that is written in place counts as one that is replaced, and so does a link to a
// folder that is pointed at another one, as orchestrators do; then that folder's file does.
func TestReloadHoweverTheFileIsWritten(t *testing.T) {
	dir := t.TempDir()
	put := func(version, name string) {
		t.Helper()
		write(t, filepath.Join(dir, version, "a2aserve.yaml"),
			strings.NewReplacer("TOKEN", "tok", "DB", filepath.Join(dir, "db", "tasks.db"), "NAME", name, "EXTRA", "").Replace(reloadable))
	}
	link := func(to, name string) {
		t.Helper()
		if err := errors.Join(os.Symlink(to, filepath.Join(dir, "next")), os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		put(version, "In-"+version)
	}
	link("v1", "current")
	link("current/a2aserve.yaml", "a2aserve.yaml")
	s := startServer(t, "--config", filepath.Join(dir, "a2aserve.yaml"))
	card := s.field(t, "Agent Card")
	served := func(name string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			_, body := call(t, "GET", card, "")
			if strings.Contains(body, `"name":"`+name+`"`) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no card of %s: %s\n%s", name, body, s.logs)
			}
		}
	}
	served("In-v1")
	put("v1", "Edited") // at once, maybe before the folder is watched
	served("Edited")
	settled := func() { time.Sleep(time.Second) } // what follows is found by nothing but its event
	settled()
	put("v1", "Edited-later")
	served("Edited-later")
	settled()
	link("v2", "current")
	served("In-v2")
	put("v2", "Edited-again")
	served("Edited-again")
	settled()
	put("v2", "Edited-last")
	served("Edited-last")
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.logs)
	}
}

// Without a file there is nothing to read again, and a hangup is no reason to end.
func TestHangupWithoutConfiguration(t *testing.T) {
	s := startServer(t, "--bind", "127.0.0.1:0", "--db", filepath.Join(t.TempDir(), "x.db"))
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.logs.wait(t, "nothing is reloaded", 1)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.logs)
	}
}

// SIGTERM gives every stream its last frame, that of a parked task too, and takes no
// further turns; the end does not wait for agents beyond shutdown_timeout.
func TestDrainOfStreams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a2aserve.yaml")
	configured(t, file, "Drained", "tok", "")
	s := startServer(t, "--config", file)
	rest := s.field(t, "HTTP+JSON")
	working, parked := open(t, rest, "tok", "slow 600000 x"), open(t, rest, "tok", "ask Which? [a|b]")
	until(t, working, "TASK_STATE_WORKING")
	until(t, parked, "TASK_STATE_INPUT_REQUIRED")
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.logs)
	}
	for name, stream := range map[string]*bufio.Reader{"working": working, "parked": parked} {
		until(t, stream, "TASK_STATE_FAILED")
		if rest, err := io.ReadAll(stream); err != nil || strings.Contains(string(rest), "data:") {
			t.Errorf("%s: after the last frame: %v %q", name, err, rest)
		}
	}
}

// A second signal ends the process at once.
func TestSecondSignal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a2aserve.yaml")
	configured(t, file, "Impatient", "tok", "")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, strings.Replace(string(b), "shutdown_timeout: 100ms", "shutdown_timeout: 10m", 1))
	s := startServer(t, "--config", file)
	stream := open(t, s.field(t, "HTTP+JSON"), "tok", "slow 600000 x")
	until(t, stream, "TASK_STATE_WORKING")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.logs.wait(t, "stopping", 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, s.rest)
		_ = s.cmd.Wait()
	}()
	for deadline, ended := time.Now().Add(time.Minute), false; !ended; {
		// Repeated, since the default action comes back a moment after the first.
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
			ended = true
		case <-time.After(10 * time.Millisecond):
			if time.Now().After(deadline) {
				t.Fatal("the process goes on after the second signal")
			}
		}
	}
	if s.cmd.ProcessState.Success() {
		t.Error("the process claims a clean end")
	}
}
