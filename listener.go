package wherry

import "sync/atomic"

// A listener is an event function in one run. What it panics with is nobody's fault but its own: the message that an event is
// about is settled as its handler said, and the goroutine goes on, of which nobody else would recover.
type listener struct {
	f      func(Event)
	broken atomic.Bool // it has panicked, which was told
}

func listeners(fs []func(Event)) []*listener {
	all := make([]*listener, len(fs))
	for i, f := range fs {
		all[i] = &listener{f: f}
	}
	return all
}

// emit passes an event to the run's event functions.
func (r *running) emit(e Event) {
	for _, l := range r.events {
		r.pass(l, e)
	}
}

// pass passes an event to one function, and tells all of them of its first panic. It too: most panic with one kind of event.
func (r *running) pass(l *listener, e Event) {
	defer func() {
		v := recover()
		if v == nil || l.broken.Swap(true) {
			return
		}
		r.emit(&Panicked{Origin: r.origin, Value: v, Stack: newPanicError(v).Stack})
	}()
	l.f(e)
}

// deafened says that events are lost, empty when none are.
func (r *running) deafened() string {
	for _, l := range r.events {
		if l.broken.Load() {
			return "an event function panicked"
		}
	}
	return ""
}

// listening reports whether anybody wants events, so that none is made in vain.
func (r *running) listening() bool { return len(r.events) > 0 }
