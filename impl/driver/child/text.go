package child

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
	"a2aserve/impl/turn"
)

// promptMark stands for the message in an argument.
const promptMark = "{prompt}"

// chunkBytes bounds one piece of the answer.
const chunkBytes = 16 << 10

// Turn runs the command once. The answer is streamed as it is written; when the server
// does not keep up, the pipe fills and the command waits. It returns once the process and
// its group are gone.
func (d *Text) Turn(ctx context.Context, in turn.Input, line *turn.Line) error {
	prompt := bus.Input(in).Text
	args, stdin, ok := d.give(prompt)
	if !ok {
		line.Emit(event.TurnRejected{TaskID: in.TaskID, Reason: "The message holds a NUL character, which the agent's command line cannot carry"})
		return nil
	}
	if !line.Emit(event.TurnStart{TurnID: in.TaskID, TaskID: in.TaskID}) {
		return nil
	}
	p, err := start(&d.opts, args, d.opts.Logger.With("task", in.TaskID))
	if errors.Is(err, syscall.E2BIG) {
		return a2a.InternalError.Errorf("The message is longer than a command line may be").Because(err)
	}
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	defer p.close()
	p.feed(stdin)
	p.endWith(ctx, line.Over())
	d.stream(p, in.TaskID, line)
	if err := p.wait(); err != nil {
		line.Emit(event.CoreError{TurnID: in.TaskID, Source: "child", Message: outcome(err), Fatal: true})
		return nil
	}
	line.Emit(event.TurnEnd{TurnID: in.TaskID})
	return nil
}

// give puts the prompt where the command wants it: into its arguments, or else on its
// standard input, as it came and without a line break added.
func (d *Text) give(prompt string) (args []string, stdin string, ok bool) {
	args = slices.Clone(d.opts.Args)
	stdin = prompt
	for i, a := range args {
		if !strings.Contains(a, promptMark) {
			continue
		}
		if strings.ContainsRune(prompt, 0) {
			return nil, "", false
		}
		args[i] = strings.ReplaceAll(a, promptMark, prompt)
		stdin = ""
	}
	return args, stdin, true
}

// stream passes on what the command writes, until it has closed its output or is gone. A
// character that a read cuts in two is passed on whole; what is no UTF-8 is replaced.
func (d *Text) stream(p *process, turnID string, line *turn.Line) {
	buf := make([]byte, chunkBytes)
	kept := 0 // bytes of a character whose others are still to come
	for {
		n, err := p.read(buf[kept:])
		n += kept
		kept = 0
		if err == nil {
			kept = unfinished(buf[:n])
		}
		if whole := buf[:n-kept]; len(whole) > 0 {
			// After the end of the task it is read all the same: a command that ends by
			// itself should not be found waiting for room.
			line.Emit(event.OutputDelta{TurnID: turnID, Text: strings.ToValidUTF8(string(whole), "\uFFFD")})
		}
		if err != nil {
			return
		}
		copy(buf, buf[n-kept:n])
	}
}

// unfinished counts the bytes at the end that begin a character and do not end it.
func unfinished(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-i:]) {
				return 0
			}
			return i
		}
	}
	return 0
}
