package wherry

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	defaultScaleEvery    = 5 * time.Second
	defaultScaleAfter    = 10 * time.Second
	defaultScaleCooldown = 30 * time.Second
	// mostScaleLooks bounds what is remembered of the looks of one hold.
	mostScaleLooks = 1000
)

// A ScaleOption sets something of [WorkersBetween]. The interface is sealed.
type ScaleOption interface{ applyScale(s *scaleSpec) }

type scaleOption func(*scaleSpec)

func (o scaleOption) applyScale(s *scaleSpec) { o(s) }

// scaleSpec is what the options of WorkersBetween set.
type scaleSpec struct {
	least, most            int
	by                     Scaler
	every, after, cooldown time.Duration
	errs                   []error
}

func (s *scaleSpec) failf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// WorkersBetween is a number of workers that changes with what waits, within two bounds, and begins at the lower. Every 5 s
// ([ScaleEvery]) the broker is asked, and the strategy ([ScaleBy], default the zero [BacklogScaler]) says how many workers
// it wants. The number changes once every answer of the last 10 s ([ScaleAfter]) wanted more, or every one wanted fewer, to
// the nearest of them, and then not again for 30 s ([ScaleCooldown]). While the consumer is paused, or the broker does not
// say what waits, nothing changes.
//
// A worker that is added opens a receiver and begins to receive. One that is removed receives nothing more; what no handler
// has touched goes back to the broker, handlers in hand return in their own time, and then it is closed. Each change is an
// event, [Scaled].
//
// In a sequence what no handler has touched goes back with the close, as a whole. Until then no other worker gets the keys of which
// the one that is removed has any: they wait for the slowest of its handlers, and for its copies to the dead letters, those for the
// drain time at most. All other keys go on.
//
// The broker has to be a [driver.Inspector]; with one that is not, and with numbers that make no range within 1 and 65,536, the
// consumer does not start. It is an error beside [Workers], and in [Pull]. A nil option is an error at start.
func WorkersBetween(least, most int, opts ...ScaleOption) ConsumerOption {
	s := &scaleSpec{least: least, most: most, after: defaultScaleAfter, cooldown: defaultScaleCooldown}
	for _, o := range opts {
		if o == nil {
			s.failf("an option is nil")
			continue
		}
		o.applyScale(s)
	}
	s.fill()
	return consumerOption(func(c *consumeSpec) {
		if c.scale != nil {
			c.failf("WorkersBetween is given twice")
		}
		for _, err := range s.errs {
			c.failf("WorkersBetween: %w", err)
		}
		c.scale = s
	})
}

// ScaleBy sets the strategy, default BacklogScaler{}. nil is an error at start.
func ScaleBy(by Scaler) ScaleOption {
	return scaleOption(func(s *scaleSpec) {
		if by == nil {
			s.failf("the strategy is nil")
			return
		}
		s.by = by
	})
}

// ScaleEvery is how often the broker is asked what waits, default 5 s. Each time costs it one question per process. It is
// an error at start when it is not more than 0.
func ScaleEvery(d time.Duration) ScaleOption {
	return scaleOption(func(s *scaleSpec) {
		if d <= 0 {
			s.failf("it asks every %v, want more than 0", d)
			return
		}
		s.every = d
	})
}

// ScaleAfter is how long the strategy must want a change before it is made, default 10 s. 0 is at the first answer. It is
// an error at start when it is negative, or more than 1,000 times [ScaleEvery].
func ScaleAfter(d time.Duration) ScaleOption {
	return scaleOption(func(s *scaleSpec) {
		if d < 0 {
			s.failf("it changes after %v, want 0 or more", d)
			return
		}
		s.after = d
	})
}

// ScaleCooldown is how long after a change there is no other, default 30 s. 0 is no such time. It is an error at start
// when it is negative.
func ScaleCooldown(d time.Duration) ScaleOption {
	return scaleOption(func(s *scaleSpec) {
		if d < 0 {
			s.failf("the cooldown is %v, want 0 or more", d)
			return
		}
		s.cooldown = d
	})
}

func (s *scaleSpec) fill() {
	if s.least < 1 || s.most < s.least {
		s.failf("%d and %d are no range of at least one worker", s.least, s.most)
	}
	if s.most > mostWorkers {
		s.failf("%d workers, want at most %d", s.most, mostWorkers)
	}
	setDefault(&s.every, defaultScaleEvery)
	if s.by == nil {
		s.by = BacklogScaler{}
	}
	if v, ok := s.by.(interface{ validate() error }); ok {
		if err := v.validate(); err != nil {
			s.failf("%w", err)
		}
	}
	if s.after/mostScaleLooks > s.every {
		s.failf("it changes after %v, want at most %d times the %v between two looks", s.after, mostScaleLooks, s.every)
	}
}

// fillWorkers sets the number of workers at the start, and checks that it can change if it is to.
func (c *consumeSpec) fillWorkers(s *sourceSpec) {
	c.workers = max(c.workers, 1)
	if s.manner == broadcasting && (c.workers > 1 || c.scale != nil) {
		c.failf("a broadcast has one worker: each is a reader, so that the handler would see every message once for each")
	}
	if c.scale == nil {
		return
	}
	if c.workersSet {
		c.failf("both Workers and WorkersBetween")
	}
	c.workers = max(c.scale.least, 1)
	if isNil(s.broker) {
		return // reported already
	}
	if _, ok := s.broker.(driver.Inspector); !ok {
		c.failf("WorkersBetween scales by what waits at the broker, which %T does not tell: it is no %v; use Workers: %w",
			s.broker, reflect.TypeFor[driver.Inspector](), errors.ErrUnsupported)
	}
}

// bounds are the least and the most workers.
func (c *consumeSpec) bounds() (least, most int) {
	if c.scale == nil {
		return c.workers, c.workers
	}
	return c.scale.least, c.scale.most
}
