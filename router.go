package wherry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Router is many consumers that run as one: a [Runner] and a [Preparer] of those that are mounted in it, with options and
// middleware that they share and a prefix for their names. Routers nest. While it runs, and before and after, single consumers
// are added, stopped, paused and resumed by name while the others go on.
//
// A consumer has the name that [Consumer.Name], events and health show, prefixes included; the methods take that name, on
// whichever router. The zero Router has no prefix, shares nothing and is empty; one that is empty runs until its context ends,
// and waits for what is added. All methods may be called from any goroutine. A Router must not be copied.
type Router struct {
	prefix string
	keep   bool
	single consumeSpec // what its consumers of single messages share
	batch  consumeSpec // what its consumers of batches share
	errs   []error     // of its declaration
	parent atomic.Pointer[Router]

	mu    sync.Mutex // guards the fields below, of the outermost router in all the routers in it; straight-line code only
	own   []*mounted
	inner []*Router
	run   *routerRun // of the outermost router; nil when it does not run
}

// mounted is a consumer's place in a router.
type mounted struct {
	c  *Consumer
	in *Router

	// Guarded by the lock of the outermost router.
	pauses map[string]func() // by their reasons, of Router.Pause; each resumes
	round  *round            // of the run in progress; nil when there is none
}

// NewRouter makes a router. prefix and a slash go before the name of each consumer in it, for events, logs, health and the
// methods of the router; topics and groups keep their names. The prefix consists of letters, digits, dots, hyphens and
// underscores; an empty one is none. What is wrong with it or with the options is reported by Run, together with what is wrong
// with the consumers and before any of them starts.
func NewRouter(prefix string, opts ...RouterOption) *Router {
	r := &Router{prefix: prefix}
	if prefix != "" {
		if err := checkName(prefix); err != nil {
			r.failf("prefix: %w", err)
		}
	}
	for _, o := range opts {
		if o == nil {
			r.failf("a router option is nil")
			continue
		}
		o.applyRouter(r)
	}
	r.checkShared()
	return r
}

func (r *Router) failf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// RouterOption fits [NewRouter].
type RouterOption interface{ applyRouter(r *Router) }

type routerOption func(*Router)

func (o routerOption) applyRouter(r *Router) { o(r) }

// A Mountable is what a [Router] can hold: a [Consumer] or another Router.
type Mountable interface {
	Runner
	Preparer
	mountIn(r *Router)
}

// Mount puts consumers and routers into a router. Each can be in one router only, and must not have run before. Consumers
// that have one name, prefixes included, are reported by Run, which names both.
func Mount(ms ...Mountable) RouterOption {
	return routerOption(func(r *Router) {
		for _, m := range ms {
			if m == nil {
				r.failf("what is mounted is nil")
				continue
			}
			m.mountIn(r)
		}
	})
}

// KeepRunning lets a router and all in it go on when one of its consumers fails: the error is in that consumer's [Stopped]
// event and in what Run returns at its end, and the consumer stays in the router as one that stopped, until [Router.Stop] takes
// it out. Without this, one that fails ends the whole Run, as it does for consumers that are given to [Run] themselves.
func KeepRunning() RouterOption { return routerOption(func(r *Router) { r.keep = true }) }

func (c *Consumer) mountIn(r *Router) {
	if c == nil || c.source == nil {
		r.failf("a mounted consumer is nil or the zero value; make one with Consume")
		return
	}
	if err := c.enter(r); err != nil {
		r.errs = append(r.errs, err)
		return
	}
	r.own = append(r.own, &mounted{c: c, in: r})
}

// mountIn is called by the constructor of r, which nobody else knows yet.
func (r *Router) mountIn(outer *Router) {
	if r == nil {
		outer.failf("a mounted router is nil")
		return
	}
	root := r.lockTree()
	defer root.mu.Unlock()
	switch {
	case root != r:
		outer.failf("router %s is in another router already", r.title())
	case r.run != nil:
		outer.failf("router %s runs: mount it before", r.title())
	default:
		r.parent.Store(outer)
		outer.inner = append(outer.inner, r)
	}
}

// title is the router's name in errors.
func (r *Router) title() string {
	if r.prefix == "" {
		return "without a prefix"
	}
	return r.named("")
}

// named is a name with the prefixes of the router and of all that it is in.
func (r *Router) named(name string) string {
	var parts []string
	if name != "" {
		parts = append(parts, name)
	}
	for ; r != nil; r = r.parent.Load() {
		if r.prefix != "" {
			parts = append(parts, r.prefix)
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, "/")
}

// outermost is the router that all others around r are in.
func (r *Router) outermost() *Router {
	for {
		outer := r.parent.Load()
		if outer == nil {
			return r
		}
		r = outer
	}
}

// lockTree locks the outermost router and returns it. Another may have been put around it just before it was locked.
func (r *Router) lockTree() *Router {
	for {
		root := r.outermost()
		root.mu.Lock()
		if root.parent.Load() == nil {
			return root
		}
		root.mu.Unlock()
	}
}

// keeps reports whether the router, or one around it, goes on without a consumer that failed.
func (r *Router) keeps() bool {
	for ; r != nil; r = r.parent.Load() {
		if r.keep {
			return true
		}
	}
	return false
}

// wrong is everything that is wrong with the declarations of the router and of all that it is in; r may be nil.
func (r *Router) wrong() error {
	var errs []error
	for ; r != nil; r = r.parent.Load() {
		errs = append(errs, r.mistakes())
	}
	return errors.Join(errs...)
}

// mistakes is what is wrong with the router's own declaration.
func (r *Router) mistakes() error {
	if len(r.errs) == 0 {
		return nil
	}
	return mistakes("router", r.named(""), errors.Join(r.errs...))
}

// allLocked are the consumers of the router and of those in it, and the routers themselves. The tree is locked.
func (r *Router) allLocked() (ms []*mounted, rs []*Router) {
	ms, rs = append(ms, r.own...), append(rs, r)
	for _, in := range r.inner {
		m, more := in.allLocked()
		ms, rs = append(ms, m...), append(rs, more...)
	}
	return ms, rs
}

// Consumers returns the consumers of the router and of those in it, sorted by their names. The slice is the caller's.
func (r *Router) Consumers() []*Consumer {
	if r == nil {
		return nil
	}
	root := r.lockTree()
	ms, _ := r.allLocked()
	root.mu.Unlock()
	cs := make([]*Consumer, 0, len(ms))
	for _, m := range ms {
		cs = append(cs, m.c)
	}
	slices.SortStableFunc(cs, func(a, b *Consumer) int { return strings.Compare(a.Name(), b.Name()) })
	return cs
}

// Names returns the names of the consumers of the router and of those in it, sorted. The slice is the caller's.
func (r *Router) Names() []string {
	cs := r.Consumers()
	names := make([]string, 0, len(cs))
	for _, c := range cs {
		names = append(names, c.Name())
	}
	return names
}

// Health returns a snapshot of each consumer, in the order of [Router.Names]. It does not ask a broker.
func (r *Router) Health() []Health {
	cs := r.Consumers()
	hs := make([]Health, 0, len(cs))
	for _, c := range cs {
		hs = append(hs, c.Health())
	}
	return hs
}
