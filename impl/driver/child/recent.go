package child

// recent remembers the keys that were put in last, each with a word about it.
type recent[V any] struct {
	room  int
	order []string // a ring, once it is full
	next  int
	known map[string]V
}

func newRecent[V any](room int) *recent[V] { return &recent[V]{room: room, known: map[string]V{}} }

func (r *recent[V]) put(key string, v V) {
	if _, ok := r.known[key]; !ok {
		if len(r.order) < r.room {
			r.order = append(r.order, key)
		} else {
			delete(r.known, r.order[r.next])
			r.order[r.next] = key
			r.next = (r.next + 1) % r.room
		}
	}
	r.known[key] = v
}

func (r *recent[V]) get(key string) (V, bool) {
	v, ok := r.known[key]
	return v, ok
}
