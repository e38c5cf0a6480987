package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"a2aserve/gen/a2a"
)

// Codes of states in the file: they never change. From firstDone on a task has ended; the
// schema's partial indexes and the statements know that number too.
const firstDone = 10

var codes = map[a2a.TaskState]int64{
	a2a.TaskStateSubmitted:     1,
	a2a.TaskStateWorking:       2,
	a2a.TaskStateInputRequired: 3,
	a2a.TaskStateAuthRequired:  4,
	a2a.TaskStateCompleted:     firstDone,
	a2a.TaskStateFailed:        firstDone + 1,
	a2a.TaskStateCanceled:      firstDone + 2,
	a2a.TaskStateRejected:      firstDone + 3,
}

var states = func() map[int64]a2a.TaskState {
	m := make(map[int64]a2a.TaskState, len(codes))
	for s, c := range codes {
		m[c] = s
	}
	return m
}()

// stateOf fails rather than guess: an unknown code means a file that this release must not serve.
func stateOf(code int64) (a2a.TaskState, error) {
	s, ok := states[code]
	if !ok {
		return "", fmt.Errorf("store: the file holds an unknown state %d", code)
	}
	return s, nil
}

// step is one transition as tasks.trail holds it.
func step(code int64, at time.Time, message bool) string {
	mark := ""
	if message {
		mark = "+"
	}
	return fmt.Sprintf("%d:%d%s;", code, at.UnixMilli(), mark)
}

// readTrail is the inverse of step, for a whole trail. The documents of statuses that
// carried a message are taken from docs, in order.
func readTrail(trail string, docs [][]byte) ([]Transition, error) {
	var all []Transition
	for one := range strings.SplitSeq(strings.TrimSuffix(trail, ";"), ";") {
		body, message := strings.CutSuffix(one, "+")
		code, at, _ := strings.Cut(body, ":")
		c, err := strconv.ParseInt(code, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("store: trail %q: %w", trail, err)
		}
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("store: trail %q: %w", trail, err)
		}
		state, err := stateOf(c)
		if err != nil {
			return nil, err
		}
		t := Transition{State: state, At: time.UnixMilli(ms).UTC()}
		if message {
			if len(docs) == 0 {
				return nil, fmt.Errorf("store: trail %q: a status document is missing", trail)
			}
			t.Status, docs = docs[0], docs[1:]
		}
		all = append(all, t)
	}
	return all, nil
}
