package ledger

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Finder finds the lane of whatever belongs to one handler at a time, such as the message value that an engine uses
// again for each of its own lanes. K is the type of that value. It is made by [NewFinder]; all methods may be called
// concurrently. Finding a known lane takes about a dozen instructions, as long as there are no more than some hundreds.
type Finder[K any] struct {
	fresh func() *Lane
	slots [slots]slot

	mu   sync.Mutex // guards the fields below, and the filling of a slot
	used int
	rest map[uintptr]*Lane // what has no slot
}

const slots = 1024

// A slot is empty when its key is 0. The key is an address that is compared and never followed. It is written after the
// lane, so that whoever sees the key sees the lane.
type slot struct {
	key  atomic.Uintptr
	lane *Lane
}

// NewFinder returns a finder that has no lanes and gets them from fresh.
func NewFinder[K any](fresh func() *Lane) *Finder[K] {
	return &Finder[K]{fresh: fresh, rest: map[uintptr]*Lane{}}
}

// Lane returns the lane of owner, a new one at the first call. The owner must not be used by two goroutines at once.
func (f *Finder[K]) Lane(owner *K) *Lane {
	key := uintptr(unsafe.Pointer(owner)) //nolint:gosec // An address as a name, which is never turned back.
	s := &f.slots[place(key)]
	if s.key.Load() == key {
		return s.lane
	}
	return f.search(key)
}

// place spreads addresses, whose low bits are alike (Knuth, multiplicative hashing).
func place(key uintptr) uint64 { return uint64(key) * 0x9e3779b97f4a7c15 >> 54 }

// search looks further than the first place, and adds what is not there.
func (f *Finder[K]) search(key uintptr) *Lane {
	first := place(key)
	for i := range uint64(slots) {
		s := &f.slots[(first+i)%slots]
		switch s.key.Load() {
		case key:
			return s.lane
		case 0:
			return f.add(key)
		}
	}
	return f.add(key)
}

func (f *Finder[K]) add(key uintptr) *Lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lane, ok := f.rest[key]; ok {
		return lane
	}
	lane := f.fresh()
	if f.used == slots {
		f.rest[key] = lane
		return lane
	}
	i := place(key)
	for f.slots[i].key.Load() != 0 {
		i = (i + 1) % slots
	}
	f.used++
	f.slots[i].lane = lane
	f.slots[i].key.Store(key)
	return lane
}
