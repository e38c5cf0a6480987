package nexus_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/child"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/nexus"
	"a2aserve/impl/nexus/stdio"
	"a2aserve/impl/turn"
)

// rootVariable is set for a process that is to be a bridge: where its sessions lie.
const rootVariable = "NEXUS_TEST_ROOT"

// bridgeMain is the main of the bridge, with the double for an engine.
func bridgeMain(root string) {
	out := os.Stdout
	os.Stdout = os.Stderr // whoever prints prints there
	fmt.Println("a plugin prints")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	in, feed := io.Pipe()
	go func() {
		_, err := io.Copy(feed, os.Stdin)
		_ = feed.CloseWithError(err)
	}()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := stdio.Run(ctx, in, out, stdio.Options{Boot: booter(root), Sessions: filepath.Join(root, "known"), Logger: log}); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}

// cleanups are those of a process.
type cleanups []func()

func (c *cleanups) Cleanup(f func()) { *c = append(*c, f) }

// booter makes an engine with a memory on disk, which begins an unfinished turn anew as
// Nexus does.
func booter(root string) func(context.Context, string, *bus.Bus) (*stdio.Engine, error) {
	return func(_ context.Context, recall string, b *bus.Bus) (*stdio.Engine, error) {
		id := recall
		if id == "" {
			id = fmt.Sprintf("nx%d", time.Now().UnixNano())
		}
		files := filepath.Join(root, "sessions", id, "files")
		if _, err := os.Stat(files); recall != "" && err != nil {
			return nil, stdio.ErrNoSession
		}
		if err := os.MkdirAll(files, 0o755); err != nil {
			return nil, err
		}
		ends := &cleanups{}
		e := newEngine(ends)
		(&mind{engine: e, files: files}).join()
		br := connect(ends, e, b, nexus.Options{Recalled: recall != ""})
		if said, err := os.ReadFile(filepath.Join(files, "unfinished")); err == nil {
			e.Emit(nexus.Input{Content: string(said)})
		}
		return &stdio.Engine{Bridge: br, Session: id, Files: files, Stop: func(context.Context) error {
			for _, f := range slices.Backward(*ends) {
				f()
			}
			return nil
		}}, nil
	}
}

// mind is what the double's model and tools do here; it remembers in files what was said.
type mind struct {
	*engine
	files   string
	stop    chan struct{} // closed when the turn is cancelled
	called  bool          // the tool of this turn
	stopped sync.Once
}

func (m *mind) join() {
	m.on("io.input", 5, func(p any) {
		said := p.(nexus.Input).Content
		m.stop, m.called, m.stopped = make(chan struct{}), false, sync.Once{}
		f, _ := os.OpenFile(filepath.Join(m.files, "history"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		fmt.Fprintf(f, "%s;", said)
		_ = f.Close()
		_ = os.WriteFile(filepath.Join(m.files, "unfinished"), []byte(said), 0o644)
	})
	m.on("agent.turn.end", 90, func(any) { _ = os.Remove(filepath.Join(m.files, "unfinished")) })
	m.on("cancel.active", 5, func(any) { m.stopped.Do(func() { close(m.stop) }) })
	m.model, m.tool = m.answer, m.work
}

func (m *mind) answer(_ *engine, said string) nexus.LLMResponse {
	word, _, _ := strings.Cut(said, " ")
	r := nexus.LLMResponse{Content: "said: " + said, Model: "double", Usage: nexus.Usage{PromptTokens: 3, CompletionTokens: 4}}
	calls := map[string]string{"write": "write_file", "link": "write_file", "ask": "ask_user", "stuck": "dangerous"}
	switch {
	case word == "crash":
		os.Exit(7)
	case word == "history":
		text, _ := os.ReadFile(filepath.Join(m.files, "history"))
		r.Content = string(text)
	case calls[word] == "" || m.called:
	default:
		if word == "stuck" {
			<-m.stop
			return nexus.LLMResponse{Model: aborted}
		}
		m.called, r.Content = true, ""
		r.ToolCalls = []nexus.ToolCall{{ID: "1", Name: calls[word], Arguments: `{"a":1}`}}
	}
	return r
}

// work writes a file, or a link to one, of the name that the message has.
func (m *mind) work(e *engine, _ nexus.ToolInvoke) nexus.ToolResult {
	word, rest, _ := strings.Cut(get(e, func() string { return e.said }), " ")
	name, target, _ := strings.Cut(rest, " ")
	path := filepath.Join(m.files, filepath.Clean("/"+name))
	if word == "link" {
		_ = os.Symlink(target, path)
	} else {
		_ = os.WriteFile(path, []byte("content of "+name), 0o644)
	}
	return nexus.ToolResult{Output: "wrote it", OutputStructured: map[string]any{"path": name, "created": true}}
}

// apart is the bridge behind the real driver, with its sessions in root.
func apart(t *testing.T, root string) (*drivertest.Bench, *child.JSON) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := child.NewJSON(child.Options{
		Command: exe, Env: map[string]string{rootVariable: root, "GORACE": "atexit_sleep_ms=0"}, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(d.Close)
	o := turn.Options{Artifacts: turn.DefaultArtifacts()}
	o.Artifacts.FileBaseDir, o.Artifacts.FileSources = filepath.Join(root, "sessions"), nil
	return drivertest.New(t, d, o), d
}

// in is a message to one conversation.
func in(context, text string) turn.Input {
	i := drivertest.Text(text)
	i.ContextID = context
	return i
}

// done says that a turn of a conversation ends with an answer.
func done(t *testing.T, b *drivertest.Bench, context, text, want string) a2a.Task {
	t.Helper()
	task := b.Await(b.Send(in(context, text)))
	if state(task) != "COMPLETED" || answer(task) != want {
		t.Fatalf("%s: %s %q (%s)", text, state(task), answer(task), drivertest.Said(task))
	}
	return task
}

// TestApart is a conversation with an engine in another process: what it tells, asks and
// writes arrives as it would from inside.
func TestApart(t *testing.T) {
	root := t.TempDir()
	b, _ := apart(t, root)
	if got := b.Engine.Agent().OutputModes; !slices.Contains(got, "application/json") {
		t.Errorf("the agent writes %v", got)
	}
	if known, _ := os.ReadDir(filepath.Join(root, "sessions")); len(known) != 0 {
		t.Error("a session was begun though nobody has said anything")
	}
	done(t, b, "a", "hello", "said: hello")

	task := done(t, b, "a", "write notes.txt", "said: write notes.txt")
	var kinds []string
	for _, a := range task.Artifacts {
		kinds = append(kinds, strings.TrimPrefix(a.ArtifactID, task.ID+"-"))
	}
	if len(kinds) != 3 || kinds[0] != "tool-1" || !strings.HasPrefix(kinds[1], "file-") || kinds[2] != "response" {
		t.Fatalf("%q", kinds)
	}
	if p := task.Artifacts[0].Parts; len(p) != 2 || string(p[1].Data) != `{"created":true,"path":"notes.txt"}` {
		t.Errorf("%+v", p)
	}
	if p := task.Artifacts[1].Parts[0]; string(p.Raw) != "content of notes.txt" || p.Filename != "notes.txt" {
		t.Errorf("%+v", p)
	}

	s := b.Send(in("a", "ask"))
	if parked := b.Await(s); state(parked) != "INPUT_REQUIRED" || !strings.Contains(drivertest.Said(parked), "Which?") {
		t.Fatalf("%s %q", state(parked), drivertest.Said(parked))
	}
	if task := b.Await(b.Answer(s, "green")); answer(task) != "said: ask" || *task.Artifacts[0].Parts[0].Text != "g" {
		t.Errorf("%+v", task.Artifacts)
	}

	watched := in("a", "watched")
	watched.Telemetry = true
	stream := b.Send(watched).Follow()
	var told strings.Builder
	for at, last := stream.At, false; !last; {
		frames, wake := stream.From(at)
		for _, f := range frames {
			told.Write(f.JSON)
			last = f.Last
		}
		if at += len(frames); len(frames) == 0 {
			<-wake
		}
	}
	if !strings.Contains(told.String(), `"inputTokens":3`) {
		t.Errorf("no tokens are told: %s", &told)
	}
}

// TestApartCancelled: the turn after a cancellation works, in the same process.
func TestApartCancelled(t *testing.T) {
	b, _ := apart(t, t.TempDir())
	for _, what := range []string{"stuck", "ask", "stuck"} {
		s := b.Send(in("a", what))
		for rec, _ := s.Run.Snapshot(); rec.State == a2a.TaskStateSubmitted; rec, _ = s.Run.Snapshot() {
			time.Sleep(time.Millisecond)
		}
		cancelTask(t, b, s)
		done(t, b, "a", "next", "said: next")
	}
	done(t, b, "a", "history", "stuck;next;ask;next;stuck;next;history;")
}

// TestApartSideBySide: conversations have an engine each, which its successor resumes: after
// the server has started again, and after a crash, whose turn is not made once more.
func TestApartSideBySide(t *testing.T) {
	root := t.TempDir()
	b, d := apart(t, root)
	var wg sync.WaitGroup
	for _, who := range []string{"a", "b", "c"} {
		wg.Go(func() {
			s, err := b.Engine.Send(context.Background(), in(who, "I am "+who))
			if err == nil {
				_, err = s.Run.Await(context.Background(), s.From)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	done(t, b, "a", "history", "I am a;history;")
	if task := b.Await(b.Send(in("b", "crash"))); state(task) != "FAILED" || !strings.Contains(drivertest.Said(task), "exit status 7") {
		t.Fatalf("%s %q", state(task), drivertest.Said(task))
	}
	done(t, b, "b", "hello", "said: hello")
	done(t, b, "b", "history", "I am b;crash;crash;hello;history;")
	d.Close()

	b, _ = apart(t, root)
	done(t, b, "a", "history", "I am a;history;history;")
	if err := os.RemoveAll(filepath.Join(root, "sessions")); err != nil {
		t.Fatal(err)
	}
	done(t, b, "c", "history", "history;")
}

// TestApartFiles: nothing is published but what lies in the session's own folder.
func TestApartFiles(t *testing.T) {
	b, _ := apart(t, t.TempDir())
	for what, want := range map[string]int{
		"write inside.txt":        3,
		"write /slash.txt":        3,
		"link inward inside.txt":  3,
		"link outward /etc/hosts": 2,
		"link up ../../":          2,
	} {
		b.Await(b.Send(in("a", "write inside.txt")))
		if task := done(t, b, "a", what, "said: "+what); len(task.Artifacts) != want {
			t.Errorf("%s: %d artifacts, want %d", what, len(task.Artifacts), want)
		}
	}
}

// TestApartSingle: one process for all contexts would be one memory for all.
func TestApartSingle(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := child.NewJSON(child.Options{Command: exe, Single: true, Env: map[string]string{rootVariable: t.TempDir()}, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(d.Close)
	b := drivertest.New(t, d, turn.Options{})
	b.Await(b.Send(in("a", "hello")))
	if task := b.Await(b.Send(in("b", "hello"))); state(task) != "REJECTED" || !strings.Contains(drivertest.Said(task), "per_context") {
		t.Errorf("%s %q", state(task), drivertest.Said(task))
	}
}

// TestApartEnds: a bridge whose turn nobody waits for ends it and itself.
func TestApartEnds(t *testing.T) {
	b, d := apart(t, t.TempDir())
	for _, what := range []string{"stuck", "ask"} {
		s := b.Send(in(what, what))
		for rec, _ := s.Run.Snapshot(); rec.State == a2a.TaskStateSubmitted; rec, _ = s.Run.Snapshot() {
			time.Sleep(time.Millisecond)
		}
	}
	d.Close()
}
