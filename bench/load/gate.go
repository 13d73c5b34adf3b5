package load

import (
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/bench/ledger"
)

// A gate holds each handler at its first message, or its first batch, until all of them have one.
type gate struct {
	came   chan struct{} // has room for all handlers, and one entry for each that has not been waited for
	here   int           // how many were waited for
	opened chan struct{}
	open   func()
	known  sync.Map // the lanes that were held once
}

func newGate(need int) *gate {
	g := &gate{came: make(chan struct{}, need), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	return g
}

// hold waits for the gate to open.
func (g *gate) hold() {
	select {
	case g.came <- struct{}{}:
	default: // One more than there should be, as after a handler that broke.
	}
	<-g.opened
}

// holdOnce holds the handler of a lane unless it was held before.
func (g *gate) holdOnce(lane *ledger.Lane) {
	if _, known := g.known.LoadOrStore(lane, nil); !known {
		g.hold()
	}
}

// wait waits until that many handlers are held, for at most that long. One goroutine waits.
func (g *gate) wait(handlers int, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for g.here < handlers {
		select {
		case <-g.came:
			g.here++
		case <-timer.C:
			return fmt.Errorf("only %d of %d handlers had a message within %v", g.here, cap(g.came), most)
		}
	}
	return nil
}
