package turn

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json/jsontext"
)

// wrote is a tool result that reports a file twice, in both ways.
func wrote(path string) event.ToolResult {
	return event.ToolResult{TurnID: "t", CallID: "c", Name: "write",
		Structured: jsontext.Value(object(map[string]any{"path": path})), OutputFile: path}
}

func fileOptions(base string, limit int, events ...event.Event) Options {
	return Options{
		Artifacts: Artifacts{MaxFileBytes: limit, FileBaseDir: base, FileSources: map[string][]string{"write": {"path"}}},
		Driver:    &script{turn: plays(append(append([]event.Event{start}, events...), end)...)},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fileBase is a folder of all kinds of things, and a secret outside.
func fileBase(t *testing.T) (base, secret string) {
	base, secret = t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.MkdirAll(filepath.Join(base, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(base, "sub", "a.txt"), []byte("content"), 0o600))
	must(t, os.WriteFile(filepath.Join(base, "empty"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(base, "large"), make([]byte, 101), 0o600))
	for name, to := range map[string]string{
		"in": "sub/a.txt", "out": secret, "up": "../" + filepath.Base(filepath.Dir(secret)) + "/secret.txt",
		"absolute": filepath.Join(base, "sub", "a.txt"), "device": "/dev/zero", "folder": "/", "loop": "loop",
	} {
		must(t, os.Symlink(to, filepath.Join(base, name)))
	}
	must(t, syscall.Mkfifo(filepath.Join(base, "fifo"), 0o600))
	return base, secret
}

// TestReportedFiles: what a tool wrote is published once, and nothing else can be had.
func TestReportedFiles(t *testing.T) {
	base, secret := fileBase(t)
	linked := filepath.Join(t.TempDir(), "base") // the base may be reached through a link
	must(t, os.Symlink(base, linked))
	for _, c := range []struct {
		path  string
		limit int
		modes []string
		want  string // of the file's only part; empty: not published
	}{
		{"sub/a.txt", 100, nil, "content"},
		{filepath.Join(base, "sub", "a.txt"), 100, nil, "content"},
		{"in", 100, nil, "content"},
		{"sub/../sub/a.txt", 100, nil, "content"},
		{"sub/a.txt", 100, []string{"application/json", "text/*"}, "content"},
		{"sub/a.txt", 100, []string{"text/plain", "image/png"}, "content"},
		{"empty", 100, nil, "(no bytes)"},
		{"large", 100, nil, "[file left out: large, 101 bytes; files up to 100 bytes are sent]"},
		{"sub/a.txt", 0, nil, "[file left out: sub/a.txt, 7 bytes; files are not sent inline]"},
		{"sub/a.txt", 100, []string{"text/plain"}, "[file left out: sub/a.txt, 7 bytes; the request does not accept text/plain inline]"},
		{"empty", 100, []string{"text/plain"}, "[file left out: empty, 0 bytes; the request does not accept application/octet-stream inline]"},
		{"../" + filepath.Base(filepath.Dir(secret)) + "/secret.txt", 100, nil, ""},
		{secret, 100, nil, ""},
		{"out", 100, nil, ""},
		{"up", 100, nil, ""},
		{"absolute", 100, nil, ""}, // os.Root takes no absolute link, wherever it leads
		{"device", 100, nil, ""},
		{"folder/etc/passwd", 100, nil, ""},
		{"loop", 100, nil, ""},
		{"sub", 100, nil, ""},
		{"fifo", 100, nil, ""},
		{"missing", 100, nil, ""},
		{"nul\x00", 100, nil, ""},
	} {
		for _, base := range []string{base, linked} {
			e := engine(t, fileOptions(base, c.limit, wrote(c.path)))
			in := ask("go")
			in.AcceptedOutputModes = c.modes
			done := task(t, await(t, send(t, e, in)))
			if done.Status.State != a2a.TaskStateCompleted {
				t.Errorf("%s: %s", c.path, done.Status.State)
			}
			files := done.Artifacts[1:]
			switch {
			case c.want == "" && len(files) == 0:
			case c.want == "" || len(files) != 1 || len(files[0].Parts) != 1:
				t.Errorf("%s: %+v", c.path, files)
			default:
				checkFile(t, c.path, c.want, files[0])
			}
		}
	}
}

func checkFile(t *testing.T, path, want string, a a2a.Artifact) {
	t.Helper()
	p, got := a.Parts[0], joined(a.Parts)
	inline := p.Raw != nil
	if inline && len(p.Raw) == 0 {
		got = "(no bytes)"
	}
	if got != want || !strings.Contains(string(a.Metadata), `"nexus.file.path"`) || !strings.Contains(string(a.Metadata), `"nexus.file.bytes"`) {
		t.Errorf("%s: %q, %s", path, got, a.Metadata)
	}
	if omitted := strings.Contains(string(a.Metadata), `"nexus.artifact.omitted":true`); omitted == inline {
		t.Errorf("%s: inline %t, %s", path, inline, a.Metadata)
	}
	if inline && (p.Filename != filepath.Base(path) || p.MediaType == "") {
		t.Errorf("%s: filename %q, media type %q", path, p.Filename, p.MediaType)
	}
}

// TestDroppedFilesAreLogged: a client learns nothing of an escape, the operator does.
func TestDroppedFilesAreLogged(t *testing.T) {
	base, secret := fileBase(t)
	var log strings.Builder
	o := fileOptions(base, 100, wrote(secret), wrote("../escape"), wrote("fifo"))
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	e := engine(t, o)
	s := send(t, e, ask("go"))
	await(t, s)
	<-s.Run.returned
	for _, path := range []string{secret, "../escape", "fifo"} {
		if !strings.Contains(log.String(), "path="+path) {
			t.Errorf("%s is not in the log:\n%s", path, log.String())
		}
	}
}

// TestAGrowingFile: what is read is bounded, however long the file has become meanwhile.
func TestAGrowingFile(t *testing.T) {
	base := t.TempDir()
	f, err := os.Create(filepath.Join(base, "log"))
	must(t, err)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer f.Close()
		for size := 0; ; size += 16 {
			select {
			case <-stop:
				return
			default:
			}
			if size >= 1<<20 {
				size = 0
				if f.Truncate(0) != nil {
					return
				}
				_, _ = f.Seek(0, io.SeekStart)
			}
			_, _ = f.WriteString("sixteen bytes...")
		}
	}()
	for range 50 {
		e := engine(t, fileOptions(base, 5000, wrote("log")))
		for _, a := range task(t, await(t, send(t, e, ask("go")))).Artifacts[1:] {
			if p := a.Parts[0]; len(p.Raw) > 5000 || p.Raw == nil && !strings.Contains(text(a.Parts), "[file left out: log, ") {
				t.Errorf("%d bytes, %q", len(p.Raw), text(a.Parts))
			}
		}
	}
	close(stop)
	<-stopped
}

// TestFileIDs are readable, bounded, and tell paths apart that look alike.
func TestFileIDs(t *testing.T) {
	base := t.TempDir()
	long := strings.Repeat("d", 60) + "/" + strings.Repeat("e", 60)
	must(t, os.MkdirAll(filepath.Join(base, filepath.Dir(long)), 0o755))
	var events []event.Event
	names := []string{"a b", "a-b", "ä.txt", long}
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(base, name), []byte(name), 0o600))
		events = append(events, wrote(name))
	}
	must(t, os.WriteFile(filepath.Join(base, "again"), []byte("x"), 0o600))
	events = append(events, wrote("again"), wrote(filepath.Join(base, "again")))
	e := engine(t, fileOptions(base, 100, events...))
	done := task(t, await(t, send(t, e, ask("go"))))
	ids := map[string]bool{}
	files := 0
	for _, a := range done.Artifacts {
		ids[a.ArtifactID] = true
		rest, isFile := strings.CutPrefix(a.ArtifactID, done.ID+"-file-")
		if !isFile {
			continue
		}
		files++
		if len(rest) > 96+1+12 || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
			t.Errorf("id %q", a.ArtifactID)
		}
	}
	if files != len(names)+1 || len(ids) != len(done.Artifacts) {
		t.Errorf("%d files, %d ids of %d artifacts", files, len(ids), len(done.Artifacts))
	}
}
