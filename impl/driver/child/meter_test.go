//go:build unix

package child

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"a2aserve/gen/a2a"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// What an agent writes beside the protocol is logged within bounds: not all that comes is
// read by somebody.
func TestStrayLines(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	hello := `read -r x; echo '{"type":"agent.hello","payload":{"protocol":1}}'; read -r x; `
	d := NewJSON(Options{Command: "/bin/sh", Args: []string{"-c", hello + `seq 1 100000; echo '{"type":"no.such"}'`},
		Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, nil))})
	task := drivertest.New(t, d, turn.Options{}).Do("go")
	d.Close() // all is read then
	if task.Status.State != a2a.TaskStateFailed {
		t.Error(task.Status.State)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := out.String(); !strings.Contains(text, "were left out") || strings.Count(text, "not of the protocol") > 5*logBurst {
		t.Errorf("%d bytes of log: %.300s", len(text), text)
	}
}
