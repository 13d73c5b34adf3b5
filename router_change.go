package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Add puts consumers into the router, all or none. While the router runs they are prepared first, and start only when each of
// them is open: what is wrong with them is returned here, and those that run do not notice. ctx bounds the opening. Before Run,
// and after its end, Add only takes them in, and Run prepares them with the others.
//
// Of two consumers that have one name the error names both; one that is still stopping has its name until it has ended. While
// the router stops, Add is [ErrStopping]. A consumer that [Router.Stop] took out may be added again to the same router.
func (r *Router) Add(ctx context.Context, cs ...*Consumer) error {
	if r == nil {
		return &Error{Op: "add", Err: errors.New("the router is nil; make one with NewRouter")}
	}
	root := r.lockTree()
	ms, err := r.admitLocked(root, cs)
	run := root.run
	if err != nil || run == nil || len(ms) == 0 {
		root.mu.Unlock()
		return err
	}
	rounds := make([]*round, 0, len(ms))
	for _, m := range ms {
		rounds = append(rounds, run.newRoundLocked(m))
	}
	run.adding.Add(1)
	root.mu.Unlock()
	defer run.adding.Done()
	return run.add(ctx, rounds)
}

// admitLocked takes consumers in, all or none.
func (r *Router) admitLocked(root *Router, cs []*Consumer) (ms []*mounted, err error) {
	if err := r.wrong(); err != nil {
		return nil, err
	}
	var errs []error
	refuse := func(name string, err error) { errs = append(errs, &Error{Op: "add", Topic: name, Err: err}) }
	all, _ := root.allLocked()
	byName := make(map[string]*Consumer, len(all))
	for _, m := range all {
		byName[m.c.Name()] = m.c
	}
	for i, c := range cs {
		if c == nil || c.source == nil {
			refuse("", fmt.Errorf("consumer %d is nil or the zero value; make one with Consume", i+1))
			continue
		}
		if root.run != nil && root.run.stoppingLocked() {
			refuse(c.Name(), ErrStopping)
			continue
		}
		if err := c.enter(r); err != nil {
			refuse("", err)
			continue
		}
		ms = append(ms, &mounted{c: c, in: r})
		if other := byName[c.Name()]; other != nil {
			refuse(c.Name(), sameName(c.Name(), other, c))
		}
		byName[c.Name()] = c
	}
	if len(errs) > 0 {
		for _, m := range ms {
			m.c.leave()
		}
		return nil, errors.Join(errs...)
	}
	r.own = append(r.own, ms...)
	return ms, nil
}

// add opens consumers that were taken in while the router runs, and starts all of them or none.
func (run *routerRun) add(ctx context.Context, rounds []*round) error {
	started := false
	defer func() {
		if !started { // also when the driver ends the goroutine
			run.discard(rounds)
		}
	}()
	opening, stop := context.WithCancel(withFleet(ctx, run.fleet))
	defer stop()
	unhook := context.AfterFunc(run.life, stop)
	defer unhook()
	var errs []error
	for _, t := range rounds {
		var err error
		if t.start, err = openMounted(opening, t.m.c); err != nil {
			errs = append(errs, err)
		}
	}
	run.root.mu.Lock()
	defer run.root.mu.Unlock()
	if run.stoppingLocked() {
		errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, context.Canceled) })
		return errors.Join(append(errs, &Error{Op: "add", Topic: rounds[0].m.c.Name(), Err: ErrStopping})...)
	}
	for _, t := range rounds {
		switch {
		case t.removed:
			errs = append(errs, &Error{Op: "add", Topic: t.m.c.Name(), Err: errors.New("it was stopped before it had started")})
		case t.start != nil:
			// Another may have been opened beside it that sends its dead letters here.
			if err := run.fleet.circle(t.m.c); err != nil {
				errs = append(errs, t.m.c.fail(err))
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, t := range rounds {
		if run.started {
			run.launchLocked(t)
		} else {
			run.ready = append(run.ready, t)
		}
	}
	started = true
	return nil
}

// discard closes what was opened and takes it out of the router again.
func (run *routerRun) discard(rounds []*round) {
	for _, t := range rounds {
		run.root.mu.Lock()
		t.removed = true
		run.root.mu.Unlock()
		var err error
		if t.start != nil {
			err = t.start(notStarted())
		}
		run.finish(t, err)
	}
}

// Stop stops the consumer of that name while the others go on, waits for its drain, and takes it out of the router; it returns
// what its run came to, as [Run] would. Before Run and after its end it only takes it out. What the consumer has not begun goes
// back to the broker and waits there, also where the broker forgets at exit, for whoever consumes it next. The pauses of
// [Router.Pause] end with it.
//
// When ctx ends first, Stop returns its error and the consumer goes on stopping. Several may stop one consumer at a time, and
// have the same result; later it is [ErrNoConsumer]. A consumer's own handler must not wait for its Stop, which waits for the
// handler.
func (r *Router) Stop(ctx context.Context, name string) error {
	if r == nil {
		return noRouter("stop", name)
	}
	root := r.lockTree()
	m := r.findLocked(name)
	if m == nil {
		err := r.unknownLocked("stop", name)
		root.mu.Unlock()
		return err
	}
	t, run := m.round, root.run
	if t == nil || t.ended {
		var err error
		if t != nil {
			if err = t.err; err != nil && run.stoppingLocked() {
				run.errs = append(run.errs, err)
			}
		}
		resumes := m.detachLocked()
		root.mu.Unlock()
		for _, resume := range resumes {
			resume()
		}
		return err
	}
	if !t.removed {
		t.removed, t.late = true, run.stoppingLocked()
		t.quit(errStoppedAlone) // which one that has not begun does not need
	}
	root.mu.Unlock()
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return &Error{Op: "stop", Topic: name, Err: fmt.Errorf("it goes on stopping: %w", context.Cause(ctx))}
	}
}

// detachLocked takes a consumer out of its router and returns what ends its pauses, to be called without the lock.
func (m *mounted) detachLocked() []func() {
	m.in.own = slices.DeleteFunc(m.in.own, func(other *mounted) bool { return other == m })
	m.c.leave()
	m.round = nil
	resumes := make([]func(), 0, len(m.pauses))
	for _, resume := range m.pauses {
		resumes = append(resumes, resume)
	}
	m.pauses = nil
	return resumes
}

// Pause pauses the consumer of that name, as [Consumer.Pause] does, until [Router.Resume] or [Router.Stop] of it. A second
// pause for the same reason does nothing. It may be called before Run, and lasts over its end.
func (r *Router) Pause(name, why string) error {
	if r == nil {
		return noRouter("pause", name)
	}
	root := r.lockTree()
	m := r.findLocked(name)
	if m == nil {
		err := r.unknownLocked("pause", name)
		root.mu.Unlock()
		return err
	}
	_, has := m.pauses[why]
	root.mu.Unlock()
	if has {
		return nil
	}
	resume := m.c.Pause(why) // which tells event functions: not under the lock
	root = r.lockTree()
	_, has = m.pauses[why]
	gone := !slices.Contains(m.in.own, m)
	if !has && !gone {
		if m.pauses == nil {
			m.pauses = make(map[string]func())
		}
		m.pauses[why] = resume
	}
	var err error
	if gone {
		err = r.unknownLocked("pause", name)
	}
	root.mu.Unlock()
	if has || gone {
		resume()
	}
	return err
}

// Resume ends what [Router.Pause] began for the consumer of that name. Pauses of others, such as a breaker's, go on. Without a
// pause it does nothing.
func (r *Router) Resume(name string) error {
	if r == nil {
		return noRouter("resume", name)
	}
	root := r.lockTree()
	m := r.findLocked(name)
	if m == nil {
		err := r.unknownLocked("resume", name)
		root.mu.Unlock()
		return err
	}
	pauses := m.pauses
	m.pauses = nil
	root.mu.Unlock()
	for _, resume := range pauses {
		resume()
	}
	return nil
}

// findLocked is the consumer of that name in the router or in one that is in it; nil is none.
func (r *Router) findLocked(name string) *mounted {
	ms, _ := r.allLocked()
	for _, m := range ms {
		if m.c.Name() == name {
			return m
		}
	}
	return nil
}

func noRouter(op, name string) error {
	return &Error{Op: op, Topic: name, Err: fmt.Errorf("%w: the router is nil; make one with NewRouter", ErrNoConsumer)}
}

// mostNamed is how many names an error lists.
const mostNamed = 8

func (r *Router) unknownLocked(op, name string) error {
	ms, _ := r.allLocked()
	names := make([]string, 0, len(ms))
	for _, m := range ms {
		names = append(names, m.c.Name())
	}
	slices.Sort(names)
	has := "it is empty"
	if n := len(names); n > 0 {
		has = "there are " + strings.Join(names[:min(n, mostNamed)], ", ")
		if n > mostNamed {
			has += fmt.Sprintf(" and %d more", n-mostNamed)
		}
	}
	return &Error{Op: op, Topic: name, Err: fmt.Errorf("%w: %s", ErrNoConsumer, has)}
}
