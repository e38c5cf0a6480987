package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/driver/drivertest"
	"a2aserve/impl/turn"
)

// mouth plays what a process would write, without one.
type mouth struct{ said []byte }

func (*mouth) Agent() turn.Agent                                       { return turn.Agent{} }
func (*mouth) Admit(context.Context, turn.Input) (*a2a.Message, error) { return nil, nil }

func (m *mouth) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	log := slog.New(slog.DiscardHandler)
	d := &JSON{opts: Options{MaxLineBytes: 4 << 10, StartTimeout: time.Second, Logger: log}}
	s := &session{
		d: d, key: "k", log: log, bus: bus.New(log), gone: make(chan struct{}), wake: make(chan struct{}, 1),
		stop: make(chan struct{}), firmly: make(chan struct{}),
		turns: map[string]*given{}, late: newRecent[bool](pastTurns),
	}
	s.drv = bus.NewDriver(s.bus, bus.Options{Logger: log})
	defer s.drv.Close()
	s.join(in.TaskID, line)
	bus.On(s.bus, func(event.Input) {
		s.lines = bufio.NewReaderSize(bytes.NewReader(bytes.ReplaceAll(m.said, []byte("TASK"), []byte(in.TaskID))), 64)
		err := s.hear()
		if errors.Is(err, io.EOF) || errors.Is(err, errTooLong) {
			s.end("The agent closed its output")
		}
	})
	return s.drv.Turn(ctx, in, line)
}

// Whatever a process writes, its task ends once its output has.
func FuzzLines(f *testing.F) {
	const start = `{"type":"agent.turn.start","payload":{"turnId":"x","taskId":"TASK"}}`
	for _, s := range [][]string{
		{start, `{"type":"io.output","payload":{"turnId":"x","role":"assistant","content":"hi"}}`, `{"type":"agent.turn.end","payload":{"turnId":"x"}}`},
		{start, `{"type":"hitl.requested","payload":{"turnId":"x","requestId":"q","prompt":"?"}}`, `{"type":"hitl.responded","payload":{"requestId":"q"}}`},
		{`{"type":"core.error","payload":{}}`, `not of the protocol`, `{"type":"io.input","payload":{}}`, start, start},
		{start, `{"type":"artifact","payload":{"turnId":"x","artifact":{"artifactId":"a","parts":[{"text":"t"}]}}}`, `{"type":"artifact","payload":7}`},
		{`{"type":"turn.rejected","payload":{"taskId":"TASK","reason":"no"}}`}, {strings.Repeat("x", 5000)},
	} {
		f.Add([]byte(strings.Join(s, "\n")))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		b := drivertest.New(t, &mouth{said}, turn.Options{Artifacts: turn.DefaultArtifacts()})
		s := b.Send(drivertest.Text("go"))
		var last string
		for _, r := range b.Frames(s) {
			if r.StatusUpdate != nil {
				last = string(r.StatusUpdate.Status.State)
			}
		}
		if !a2a.TaskState(last).Terminal() {
			t.Fatalf("%q ends as %q", said, last)
		}
	})
}
