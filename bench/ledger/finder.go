package ledger

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Finder finds the lane of whatever belongs to one handler at a time, such as the message value that an engine uses
// again for each of its own lanes. K is the type of that value. It is made by [NewFinder]; all methods may be called
// concurrently. Finding a known lane takes about as long as reading a field.
type Finder[K any] struct {
	fresh func() *Lane
	table atomic.Pointer[[]slot]

	mu   sync.Mutex // guards a change of the table
	keys []slot
}

// slot is empty when its lane is nil. The key is an address that is compared and never followed.
type slot struct {
	key  uintptr
	lane *Lane
}

// NewFinder returns a finder that has no lanes and gets them from fresh.
func NewFinder[K any](fresh func() *Lane) *Finder[K] {
	f := &Finder[K]{fresh: fresh}
	empty := make([]slot, 1)
	f.table.Store(&empty)
	return f
}

// Lane returns the lane of owner, a new one at the first call. The owner must not be used by two goroutines at once.
func (f *Finder[K]) Lane(owner *K) *Lane {
	key := uintptr(unsafe.Pointer(owner)) //nolint:gosec // An address as a name, which is never turned back.
	table := *f.table.Load()
	for i := place(key); ; i++ {
		s := &table[i&(len(table)-1)]
		if s.key == key {
			return s.lane
		}
		if s.lane == nil {
			return f.add(key)
		}
	}
}

// place spreads addresses, whose low bits are alike.
func place(key uintptr) int { return int(uint64(key) * 0x9e3779b97f4a7c15 >> 40) }

// add makes a table with room for another key, so that whoever reads the one before is not disturbed.
func (f *Finder[K]) add(key uintptr) *Lane {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.keys {
		if s.key == key {
			return s.lane
		}
	}
	f.keys = append(f.keys, slot{key, f.fresh()})
	size := 64
	for size < 8*len(f.keys) {
		size *= 2
	}
	table := make([]slot, size)
	for _, s := range f.keys {
		i := place(s.key) & (size - 1)
		for table[i].lane != nil {
			i = (i + 1) & (size - 1)
		}
		table[i] = s
	}
	f.table.Store(&table)
	return f.keys[len(f.keys)-1].lane
}
