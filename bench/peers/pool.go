package main

import (
	"sync"

	"github.com/wherryhq/wherry/bench/ledger"
)

// A pool has lanes for handlers that are not bound to one: a goroutine for each message, or a function that a library calls
// from wherever it likes. A lane is taken for a note and given back.
type pool struct {
	lanes []pooled
	free  sync.Pool
}

type pooled struct {
	mu   sync.Mutex // guards the lane
	lane *ledger.Lane
	_    [64]byte // what others lock stands on a line of its own
}

// newPool returns a pool of n lanes.
func newPool(b *bed, n int) *pool {
	p := &pool{lanes: make([]pooled, n)}
	next := 0
	var mu sync.Mutex
	for i := range p.lanes {
		p.lanes[i].lane = b.lane()
	}
	// A sync.Pool gives a goroutine what its processor used last, so that lanes are rarely fought for.
	p.free.New = func() any {
		mu.Lock()
		defer mu.Unlock()
		next++
		return &p.lanes[next%len(p.lanes)]
	}
	return p
}

func (p *pool) note(id uint32) {
	l := p.free.Get().(*pooled) //nolint:forcetypeassert // Only this pool puts.
	l.mu.Lock()
	l.lane.Note(id)
	l.mu.Unlock()
	p.free.Put(l)
}
