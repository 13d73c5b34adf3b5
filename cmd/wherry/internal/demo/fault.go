package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/mem"
)

// A Fault is something that the broker does wrong in a run, to show what comes of it. The zero Fault is none.
type Fault string

const (
	// Drop loses one delivery. The ledger finds it.
	Drop Fault = "drop"
	// Duplicate delivers one message twice to a group.
	Duplicate Fault = "duplicate"
	// Stall delivers nothing for a while, without a word. Health tells, and tells again when it is over.
	Stall Fault = "stall"
)

// UnmarshalText takes the name of a fault.
func (f *Fault) UnmarshalText(text []byte) error {
	switch name := Fault(text); name {
	case Drop, Duplicate, Stall:
		*f = name
		return nil
	default:
		return fmt.Errorf("there is no fault %q, want drop, duplicate or stall", text)
	}
}

const (
	longestStall  = 5 * time.Second
	shortestStall = time.Second
	// stallAfter is when a consumer without progress is not ready.
	stallAfter = time.Second
)

// A faultPlan is when a fault happens.
type faultPlan struct {
	fault  Fault
	faults *mem.Faults
	at     time.Duration // of a stall, after the first order
	length time.Duration // of a stall
	order  int           // before which a drop or duplicate is switched on
}

// planFault puts the fault in the first half of a run, whose length may be unknown.
func planFault(cfg *Config, faults *mem.Faults) faultPlan {
	p := faultPlan{fault: cfg.Fault, faults: faults, order: 1, at: longestStall / 2, length: longestStall}
	if cfg.Duration > 0 {
		p.at = cfg.Duration / 3
		p.length = min(max(cfg.Duration/3, shortestStall), longestStall)
	}
	if cfg.Input != nil {
		p.at = 0 // it may be short
	} else if cfg.Rate > 0 {
		p.order = 1 + int(p.at.Seconds()*float64(cfg.Rate))
	}
	return p
}

// before is called before an order is published, counted from 1.
func (p *faultPlan) before(order int) {
	if order != p.order {
		return
	}
	switch p.fault {
	case Drop:
		p.faults.Drop(topicName, 1)
	case Duplicate:
		p.faults.Duplicate(topicName, 1)
	case Stall:
	}
}

// start lets a stall happen, if that is the fault, beside the caller. The returned function waits until it is over, which
// is early when ctx ends. A stall that is due at once has begun when start returns.
func (p *faultPlan) start(ctx context.Context) (finish func()) {
	if p.fault != Stall {
		return func() {}
	}
	if p.at == 0 {
		p.faults.Stall(topicName)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if wait(ctx, p.at) == nil {
			p.faults.Stall(topicName)
			_ = wait(ctx, p.length)
		}
		p.faults.Unstall(topicName)
		_ = wait(ctx, p.stallAfter()/2) // in which health sees that it is over, before a short run is
	})
	return wg.Wait
}

// stallAfter is short enough for the stall to be noticed.
func (p *faultPlan) stallAfter() time.Duration { return min(stallAfter, p.length/2) }
