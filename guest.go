package wherry

import "context"

// A guest is a runner of a Run that is no consumer. Nobody knows what it does, so it may publish until it has returned: before
// that no broker counts as empty.
//
// While it runs consumers itself it waits for them. They must not wait for it then, nor for another guest in the same case,
// whose consumers would wait for them. Consumers that no guest runs wait for all guests.
type guest struct {
	fleet *fleet

	// Guarded by the lock of the fleet.
	consumers int // that it runs
	gone      bool
}

type guestKey struct{}

// guestOf is the guest that runs what has this context; nil is none.
func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

// invite makes a guest of the fleet. It belongs to it from before it starts, as a consumer does.
func (f *fleet) invite() *guest {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := &guest{fleet: f}
	f.guests[g] = struct{}{}
	return g
}

// inside is a context for the guest, whose consumers join its fleet.
func (g *guest) inside(ctx context.Context) context.Context {
	return context.WithValue(withFleet(ctx, g.fleet), guestKey{}, g)
}

// start returns run as a start of the guest.
func (g *guest) start(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		defer g.leave()
		return run(g.inside(ctx))
	}
}

// leave tells that the guest has returned. More than once does nothing.
func (g *guest) leave() {
	g.change(func() { g.gone = true })
}

// enter tells that a consumer of the guest runs, until the returned function is called. g may be nil.
func (g *guest) enter() (over func()) {
	if g == nil {
		return func() {}
	}
	g.change(func() { g.consumers++ })
	return func() { g.change(func() { g.consumers-- }) }
}

func (g *guest) change(f func()) {
	g.fleet.mu.Lock()
	defer g.fleet.mu.Unlock()
	f()
	g.fleet.turns++
	if g.gone {
		delete(g.fleet.guests, g)
	}
}

// company reports whether a guest may publish that r waits for, and how often something became of a guest.
func (f *fleet) company(r *running) (some bool, turns uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for g := range f.guests {
		if !r.hosted || g.consumers == 0 {
			return true, f.turns
		}
	}
	return false, f.turns
}
