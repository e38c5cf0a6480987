package nexus

import (
	"cmp"
	"sync"
	"time"

	"a2aserve/gen/event"
	"a2aserve/impl/driver/bus"
)

// Host is the Nexus bus. Both methods return when all handlers have.
type Host interface {
	// Emit emits a payload under its EventName.
	Emit(p Payload)
	// Propose asks the gates of before:io.input, which may change what in points at.
	Propose(in *Input) (reason string, vetoed bool)
}

// Options say what cannot be seen on the bus.
type Options struct {
	Agents []string // see NewSession
	// Patience is how long the next input waits for a model that still owes an answer to
	// a cancelled turn; zero means DefaultPatience. The agent takes an answer that comes
	// even later for one to the new turn.
	Patience time.Duration
	// Recalled says that the engine resumes a stored session. It then begins the turn
	// anew that a crash has cut short; the task of that turn has failed, so the agent's
	// model is not asked until the first input of a task.
	Recalled bool
}

// DefaultPatience lets a provider abort its request; those of Nexus do at once.
const DefaultPatience = 5 * time.Second

// Bridge joins a Nexus bus and the server's bus. Its methods may be called from any
// goroutine and, but for Close, in any handler.
type Bridge struct {
	bus     *bus.Bus
	host    Host
	session *Session
	patient time.Duration
	stop    []func()
	wg      sync.WaitGroup
	end     sync.Once

	// lane holds a token while an input of ours is emitted, which lasts as long as a
	// turn may, or while the agent is mended: the two never overlap.
	lane chan struct{}
	wake chan struct{} // holds a token while the agent may need mending
	calm chan struct{} // holds a token while the model may owe no answer any more
	done chan struct{} // closed by Close
}

// Connect makes a bridge. The server's driver on b must be told that the agent has one
// session and that its answers are gated. Close the bridge after the server.
func Connect(b *bus.Bus, h Host, o Options) *Bridge {
	br := &Bridge{
		bus: b, host: h, session: NewSession(o.Agents),
		lane: make(chan struct{}, 1), wake: make(chan struct{}, 1), calm: make(chan struct{}, 1), done: make(chan struct{}),
		patient: cmp.Or(o.Patience, DefaultPatience),
	}
	if o.Recalled {
		br.session.hold()
	}
	br.stop = []func(){
		bus.On(b, br.input),
		bus.On(b, func(e event.HITLResponded) { br.tell(e) }),
		bus.On(b, func(e event.HITLCancel) { br.tell(e) }),
		bus.On(b, func(e event.CancelRequest) { br.tell(e) }),
	}
	br.wg.Go(br.mend)
	return br
}

// Close takes the bridge off the server's bus and waits for a repair that is under way.
func (b *Bridge) Close() {
	b.end.Do(func() { close(b.done) })
	for _, stop := range b.stop {
		stop()
	}
	b.wg.Wait()
}

// Abandon has the agent give up the turn of a task, if it works on one: nobody waits for
// it any more. It may return before the turn has ended.
func (b *Bridge) Abandon() {
	for _, p := range b.session.abandon() {
		b.host.Emit(p)
	}
}

// Hear takes an event of the Nexus bus; call it for each type that there is a payload
// for. It may wait for room in the turn's queue, and for nothing else; a question of a turn
// that has been stopped is taken back from within.
func (b *Bridge) Hear(p Payload) {
	for _, e := range b.session.Hear(p) {
		_ = b.bus.Emit(e) // panics are logged by the bus
	}
	if q, ok := p.(HITLRequested); ok {
		if back, ok := b.session.Retracts(q); ok {
			b.host.Emit(back)
		}
	}
	b.settle()
}

// Returned says that the handlers of a llm.request have returned; call it in the very last.
func (b *Bridge) Returned(r LLMRequest) {
	b.session.Returned(r)
	b.settle()
}

// settle tells those who wait for the model of a cancelled agent.
func (b *Bridge) settle() {
	if b.session.Due() {
		signal(b.wake)
	}
	if !b.session.Outstanding() {
		signal(b.calm)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Vetoes says whether a request to a model is to be vetoed.
func (b *Bridge) Vetoes(r LLMRequest) (reason string, vetoed bool) { return b.session.Vetoes(r) }

// input runs a turn, on the goroutine that the driver keeps for it.
func (b *Bridge) input(in event.Input) {
	if !b.take() {
		return
	}
	defer b.give()
	b.await()
	b.repair(true)
	msg := b.session.Begin(in)
	if reason, vetoed := b.host.Propose(&msg); vetoed {
		b.session.Refused()
		_ = b.bus.Emit(event.TurnRejected{Reason: reason})
		return
	}
	b.host.Emit(msg)
}

// await waits until a cancelled agent's model owes nothing, for a while.
func (b *Bridge) await() {
	if !b.session.Outstanding() {
		return
	}
	timer := time.NewTimer(b.patient)
	defer timer.Stop()
	for b.session.Outstanding() {
		select {
		case <-b.calm:
		case <-timer.C:
			return
		case <-b.done:
			return
		}
	}
}

func (b *Bridge) tell(e event.Event) {
	for _, p := range b.session.Tell(e) {
		b.host.Emit(p)
	}
}

// mend waits for cancellations of turns that work on after their input has returned. A
// handler that hears of one must not do it: the agent is still busy cancelling then.
func (b *Bridge) mend() {
	for {
		select {
		case <-b.wake:
		case <-b.done:
			return
		}
		if !b.take() {
			return
		}
		b.repair(false)
		b.give()
	}
}

// repair emits what mends the agent. The lane is ours.
func (b *Bridge) repair(now bool) {
	steps := b.session.Repair(now)
	if steps == nil {
		return
	}
	defer b.session.Repaired() // also when a handler panics: once is enough
	for _, p := range steps {
		b.host.Emit(p)
	}
}

// take waits for the lane; it returns false once the bridge is closed.
func (b *Bridge) take() bool {
	select {
	case <-b.done:
		return false
	default:
	}
	select {
	case b.lane <- struct{}{}:
		return true
	case <-b.done:
		return false
	}
}

func (b *Bridge) give() { <-b.lane }
