package load

import (
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/bench/ledger"
)

// A gate holds each handler at its first message, or its first batch, until all of them have one.
type gate struct {
	need   int
	all    chan struct{} // closed when all wait
	opened chan struct{}
	open   func()
	known  sync.Map // the lanes that were held once

	mu   sync.Mutex // guards the field below
	here int
}

func newGate(need int) *gate {
	g := &gate{need: need, all: make(chan struct{}), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	return g
}

// hold waits for the gate to open.
func (g *gate) hold() {
	g.mu.Lock()
	g.here++
	if g.here == g.need {
		close(g.all)
	}
	g.mu.Unlock()
	<-g.opened
}

// holdOnce holds the handler of a lane unless it was held before.
func (g *gate) holdOnce(lane *ledger.Lane) {
	if _, known := g.known.LoadOrStore(lane, nil); !known {
		g.hold()
	}
}

// wait waits for all handlers, for at most that long.
func (g *gate) wait(most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-g.all:
		return nil
	case <-timer.C:
		g.mu.Lock()
		defer g.mu.Unlock()
		return fmt.Errorf("only %d of %d handlers had a message within %v", g.here, g.need, most)
	}
}
