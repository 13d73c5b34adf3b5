package wherry

import (
	"fmt"
	"slices"
)

// Share gives options to every consumer of a router, of single messages and of batches alike, and to those of the routers in
// it. What a consumer sets by an option of its own wins, and a router wins over the one that it is in; all of them win over the
// topic. Middleware and event functions add up: those of the outermost router come first, which makes its middleware the
// outermost, and the consumer's own come last. A [Name] cannot be shared.
//
// What a source has no use for is left out for it: [DeadLetterTo], [Workers] and [WorkersBetween] for a broadcast, [Prefetch] for
// transactions. All else that is an error with one of the consumers is one here.
func Share(opts ...ConsumerOption) RouterOption {
	return routerOption(func(r *Router) {
		for _, o := range opts {
			if o == nil {
				r.failf("a shared option is nil")
				continue
			}
			o.applyConsume(&r.single)
			o.applyBatch(&r.batch)
		}
	})
}

// ShareSingle is [Share] for consumers of single messages alone: [Use], [Concurrency] and whatever else [Consume] takes.
func ShareSingle(opts ...ConsumeOption) RouterOption {
	return routerOption(func(r *Router) {
		for _, o := range opts {
			if o == nil {
				r.failf("a shared option is nil")
				continue
			}
			o.applyConsume(&r.single)
		}
	})
}

// ShareBatch is [Share] for consumers of batches alone: [UseBatch], [BatchSize] and whatever else [ConsumeBatch] takes.
func ShareBatch(opts ...BatchOption) RouterOption {
	return routerOption(func(r *Router) {
		for _, o := range opts {
			if o == nil {
				r.failf("a shared option is nil")
				continue
			}
			o.applyBatch(&r.batch)
		}
	})
}

// checkShared takes over what is wrong with the shared options. What fits both shapes of handler is wrong twice.
func (r *Router) checkShared() {
	if r.single.name != "" || r.batch.name != "" {
		r.failf("a name cannot be shared: each consumer has one of its own")
	}
	said := map[string]bool{}
	for _, err := range slices.Concat(r.single.errs, r.batch.errs) {
		if text := err.Error(); !said[text] {
			said[text] = true
			r.failf("shared options: %w", err)
		}
	}
}

// under returns c with what it leaves open taken from what a router shares. Mistakes in that are the router's to report.
func (c consumeSpec) under(shared *consumeSpec) consumeSpec {
	c.settings = c.over(shared.settings)
	if !c.workersSet && c.scale == nil {
		c.workers, c.workersSet, c.scale = shared.workers, shared.workersSet, shared.scale
	}
	setDefault(&c.concurrency, shared.concurrency)
	setDefault(&c.prefetch, shared.prefetch)
	setDefault(&c.timeout, shared.timeout)
	setDefault(&c.stallAfter, shared.stallAfter)
	setDefault(&c.maxDelivered, shared.maxDelivered)
	setDefault(&c.batchSize, shared.batchSize)
	setDefault(&c.batchBytes, shared.batchBytes)
	if !c.drainSet {
		c.drain, c.drainSet = shared.drain, shared.drainSet
	}
	if !c.graceSet {
		c.grace, c.graceSet = shared.grace, shared.graceSet
	}
	if !c.batchAgeSet {
		c.batchAge, c.batchAgeSet = shared.batchAge, shared.batchAgeSet
	}
	c.exactTime = c.exactTime || shared.exactTime
	c.dedup, c.dedupApart = max(c.dedup, shared.dedup), c.dedupApart || shared.dedupApart
	c.events = slices.Concat(shared.events, c.events)
	c.middleware = slices.Concat(shared.middleware, c.middleware)
	c.batchMiddleware = slices.Concat(shared.batchMiddleware, c.batchMiddleware)
	return c
}

// place fixes what the consumer runs with, before it first does. Later it could not change: handlers that were abandoned may
// still look at it.
func (c *Consumer) place() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.placed {
		return
	}
	if home := c.home.Load(); home != nil {
		c.spec, c.under = c.sharingLocked(), home.outermost()
	}
	c.placed = true
}

// sharingLocked is what the consumer runs with, with what its routers share and with defaults.
func (c *Consumer) sharingLocked() consumeSpec {
	home := c.home.Load()
	if c.placed || home == nil {
		return c.spec
	}
	spec := c.own
	for r := home; r != nil; r = r.parent.Load() {
		if c.newBulk != nil {
			spec = spec.under(&r.batch)
		} else {
			spec = spec.under(&r.single)
		}
	}
	spec.leaveOut(c.source, &c.own)
	spec.name = c.nameLocked()
	if c.newBulk != nil {
		spec.fillBatch()
	}
	spec.fill(c.source)
	return spec
}

// leaveOut takes out what routers share and the source's manner has no use for. The same as an option of the consumer's own is a
// mistake; what is shared is for those that it fits.
func (c *consumeSpec) leaveOut(s *sourceSpec, own *consumeSpec) {
	switch s.manner {
	case broadcasting:
		c.deadLetterTo = own.deadLetterTo
		c.workers, c.workersSet, c.scale = own.workers, own.workersSet, own.scale
	case transacted:
		c.prefetch = own.prefetch
	case competing, sequenced: // Every option fits.
	}
}

func (c *Consumer) nameLocked() string {
	if home := c.home.Load(); home != nil && !c.placed {
		return home.named(c.spec.name)
	}
	return c.spec.name
}

// enter makes r the consumer's router, for as long as it is in it. One that ran keeps what it ran with, so that only a router
// below the same outermost one can take it again.
func (c *Consumer) enter(r *Router) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if home := c.home.Load(); home != nil {
		if home == r {
			return fmt.Errorf("consumer %s is in it already", c.nameLocked())
		}
		return fmt.Errorf("consumer %s is in another router already (%s)", c.spec.name, home.title())
	}
	if c.placed && (c.under == nil || c.under != r.outermost() || c.left != r) {
		return fmt.Errorf("consumer %s ran elsewhere before, with other options: make another with Consume", c.spec.name)
	}
	c.home.Store(r)
	return nil
}

// leave takes the consumer out of its router.
func (c *Consumer) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = c.home.Swap(nil)
}
