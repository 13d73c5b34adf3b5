package timing_test

import (
	"sync"

	"github.com/wherryhq/wherry"
)

// listener keeps the events that a try asks for.
type listener struct {
	mu  sync.Mutex
	all []wherry.Event
}

// hear is an event function. The frequent event is used again, so it is copied.
func (l *listener) hear(e wherry.Event) {
	if h, ok := e.(*wherry.Handled); ok {
		c := *h
		e = &c
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

// heard are those of one type.
func heard[E wherry.Event](l *listener) []E {
	l.mu.Lock()
	defer l.mu.Unlock()
	var some []E
	for _, e := range l.all {
		if own, ok := e.(E); ok {
			some = append(some, own)
		}
	}
	return some
}
