package main

import (
	"fmt"
	"sync"
	"time"
)

// A gate holds each receiver at its first message until all of them have one.
type gate struct {
	need   int
	all    chan struct{} // closed when all wait
	opened chan struct{}
	open   func()

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

// wait waits for all receivers, for at most that long.
func (g *gate) wait(most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-g.all:
		return nil
	case <-timer.C:
		g.mu.Lock()
		defer g.mu.Unlock()
		return fmt.Errorf("only %d of %d receivers had a message within %v", g.here, g.need, most)
	}
}
