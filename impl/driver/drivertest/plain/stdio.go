package plain

import (
	"io"
	"os"
	"sync"

	protocol "a2aserve/impl/driver/child/agent"
)

// Stdio is the agent in a process of its own: it speaks JSON lines until in ends, as
// docs/agent-protocol.md has it. A crash ends the process with exit status 7.
func Stdio(in io.Reader, out io.Writer, o Options) error {
	w := &lines{out: out}
	o.Crash, o.Garbage = func() { os.Exit(7) }, w.garbage
	c, _, err := protocol.Accept(in, w, protocol.Options{Logger: o.Logger})
	if err != nil {
		return err
	}
	d := New(o)
	if err = c.Greet(protocol.Hello{InputModes: inputModes, OutputModes: outputModes, Cancel: true, Questions: true}); err == nil {
		err = c.Run(d.Bus)
	}
	d.Close()
	c.Wait()
	return err
}

// lines takes whole lines from several goroutines.
type lines struct {
	mu  sync.Mutex // serialises writes to out
	out io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// garbage writes lines that are no events.
func (l *lines) garbage(kind string) {
	if kind != "noise" {
		_, _ = io.WriteString(l, `{"type":"io.output","payload":{"turnId":7}}`+"\n")
		return
	}
	for _, text := range []string{
		"a print for debugging", "", "\xff\xfe\x00", "{", "[]", "{}", `{"type":7}`, `{"type":"io.input","payload":{}}`,
		`{"type":"agent.hello","payload":{"protocol":9}}`, `{"type":"no.such","payload":[[[[]]]]}`,
	} {
		_, _ = io.WriteString(l, text+"\n") // that nobody reads is seen elsewhere
	}
}
