package mem

import "time"

// due is when a held entry becomes ready.
type due struct {
	at    time.Duration
	order uint64 // of coming, which decides between entries that are due together
	e     *entry
}

func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.order < o.order }

// A dueHeap has the entry that is due first at its top. The zero heap is empty.
type dueHeap []due

func (h *dueHeap) push(d due) {
	*h = append(*h, d)
	h.up(len(*h) - 1)
}

// pop takes out the first; the heap is not empty.
func (h *dueHeap) pop() *entry { return h.remove(0) }

// remove takes out number i.
func (h *dueHeap) remove(i int) *entry {
	s := *h
	e := s[i].e
	last := len(s) - 1
	s[i] = s[last]
	s[last] = due{}
	*h = s[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
	return e
}

// index returns where e is, or -1.
func (h dueHeap) index(e *entry) int {
	for i := range h {
		if h[i].e == e {
			return i
		}
	}
	return -1
}

func (h dueHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (h dueHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].before(h[child]) {
			child = right
		}
		if !h[child].before(h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
