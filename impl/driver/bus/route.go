package bus

import "a2aserve/gen/event"

// hear is the driver's handler: it finds the turn that an event belongs to and puts the
// event into that turn's queue.
func (d *Driver) hear(e event.Event) {
	switch e.EventType() {
	case "io.input", "cancel.request", "shutdown": // ours
		return
	}
	e = value(e)
	t := d.route(e)
	if t == nil {
		d.opts.Logger.Debug("an event belongs to no turn of ours", "type", e.EventType(), "turn", e.Turn())
		return
	}
	t.line.Emit(e)
	switch e.EventType() {
	case "agent.turn.start":
		t.start()
	case "agent.turn.end", "cancel.complete", "turn.rejected":
		d.mu.Lock()
		t.end()
		d.mu.Unlock()
	}
}

// route finds the turn of an event, and binds turn ids and questions on the way.
func (d *Driver) route(e event.Event) *active {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch v := e.(type) {
	case event.TurnStart:
		return d.bind(v)
	case event.TurnRejected:
		if v.TaskID != "" {
			return d.byTask[v.TaskID]
		}
	case event.HITLResponded:
		return d.byAsk[v.RequestID]
	case event.HITLCancel: // ours, or the agent takes its question back
		return d.byAsk[v.RequestID]
	case event.CoreError:
		t := d.of(v.TurnID)
		if t != nil && (v.Fatal || v.RetriesExhausted || !v.Retryable) {
			t.failed = true
		}
		return t
	case event.HITLRequested:
		return d.asks(d.of(v.TurnID), v.RequestID)
	case event.AuthRequired:
		return d.asks(d.of(v.TurnID), v.RequestID)
	}
	return d.of(e.Turn())
}

// value is the event itself where a pointer to it was emitted: the queue weighs values, and
// whoever emitted the pointer may use it again.
func value(e event.Event) event.Event {
	if t := event.Named(e.EventType()); t != nil {
		return t.Value(e)
	}
	return e
}

// of finds a turn by its id. An event without one can only be told apart while there is
// one turn. d.mu is held.
func (d *Driver) of(turnID string) *active {
	if turnID != "" {
		return d.byTurn[turnID]
	}
	if len(d.byTask) == 1 {
		for _, t := range d.byTask {
			return t
		}
	}
	return nil
}

// bind gives a turn id to the task it names, or, where it names none, to the only turn
// that waits for one. d.mu is held.
func (d *Driver) bind(e event.TurnStart) *active {
	if t := d.byTurn[e.TurnID]; t != nil {
		return t // a further round of the same turn
	}
	var found *active
	if e.TaskID != "" {
		found = d.byTask[e.TaskID]
	} else {
		for _, t := range d.byTask {
			if t.begun {
				continue
			}
			if found != nil {
				return nil
			}
			found = t
		}
	}
	// A late start of a turn that was cancelled must not bind to the next one.
	if found == nil || found.begun {
		return nil
	}
	found.begun, found.turnID = true, e.TurnID
	if e.TurnID != "" {
		d.byTurn[e.TurnID] = found
	}
	return found
}

// asks remembers whose question it is, since an answer on the bus names no turn. d.mu is
// held.
func (d *Driver) asks(t *active, requestID string) *active {
	if t != nil && requestID != "" {
		d.byAsk[requestID] = t
		t.asks = append(t.asks, requestID)
	}
	return t
}

func (d *Driver) add(t *active) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byTask[t.taskID] = t
}

func (d *Driver) remove(t *active) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byTask, t.taskID)
	if d.byTurn[t.turnID] == t {
		delete(d.byTurn, t.turnID)
	}
	for _, id := range t.asks {
		if d.byAsk[id] == t {
			delete(d.byAsk, id)
		}
	}
}

// end marks the turn as over; the driver's lock is held.
func (t *active) end() {
	select {
	case <-t.ended:
	default:
		close(t.ended)
	}
}
