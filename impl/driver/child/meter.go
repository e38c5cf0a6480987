package child

import "time"

// Bounds of what the log takes from a process, of either of its outputs: lines a second
// after a first burst, and bytes a line.
const (
	logBurst     = 50
	logEvery     = 200 * time.Millisecond
	logLineBytes = 4 << 10
)

// meter says which lines the log takes, and counts the others. One goroutine at a time
// may use it.
type meter struct {
	taken   int // of the burst, and not regained since
	last    time.Time
	dropped int
}

func (m *meter) take() bool {
	if n := int(time.Since(m.last) / logEvery); n > 0 {
		m.taken, m.last = max(0, m.taken-n), time.Now()
	}
	if m.taken == logBurst {
		m.dropped++
		return false
	}
	m.taken++
	return true
}
