package wherry

import (
	"fmt"
	"math"
	"time"
)

// A Scaler is a strategy of [WorkersBetween]: it says how many workers a consumer should have.
type Scaler interface {
	// Scale returns the number of workers that it wants, by what it is told. What is outside of the bounds means the
	// nearer bound. It is called by one goroutine of each consumer, every [ScaleEvery], and holds up the next call only.
	// That it wants the same for a while, and not the opposite right after, is seen to by its caller. A panic is an event,
	// and wants no change.
	Scale(s ScaleSnapshot) int
}

// A ScaleSnapshot is what a [Scaler] decides by. It is about one consumer in this process, but for what the broker says,
// which is about all of them.
type ScaleSnapshot struct {
	// Workers is how many run or are being opened; those that leave do not count.
	Workers int
	// Least and Most are the bounds of [WorkersBetween].
	Least, Most int
	// PerWorker is how many messages one worker may hold, its credit: see [Prefetch].
	PerWorker int
	// Ready is the number of messages that wait at the broker to be received, by anybody. It is never unknown: where the
	// broker does not tell, nobody is asked.
	Ready int64
	// Oldest is how long ago the oldest of them was first published; 0 where none waits or the broker does not tell.
	Oldest time.Duration
	// InFlight is how many messages the consumer's workers hold.
	InFlight int
	// Rate is [Health.Rate].
	Rate float64
}

// Capacity is how many messages the workers may hold. More than an int has room for is [math.MaxInt].
func (s ScaleSnapshot) Capacity() int {
	if s.PerWorker > 0 && s.Workers > math.MaxInt/s.PerWorker {
		return math.MaxInt
	}
	return s.Workers * s.PerWorker
}

// A BacklogScaler wants more workers when more waits than those that run could hold, and fewer when they could hold far
// more than waits. Its zero value is the default of [WorkersBetween].
//
// It compares what is ready with the credit of the workers and not with their concurrency. What fits into the credit waits
// for a handler, not for a worker: another worker would only hold it in another place. And the credit grows with
// the batch, where the concurrency is always one. How long messages wait it does not see; that is what Oldest is for.
//
// Upwards it wants as many workers as bring the backlog back to Up, at most twice those that run, since their work is not
// seen yet. Downwards it wants one less.
type BacklogScaler struct {
	// Up is how many times the capacity may be ready before it wants more workers. 0 is 2.
	Up float64
	// Down is how many times the capacity must be ready for it to want no fewer. 0 is 0.5. It is at most half of Up, so
	// that a worker which is removed is not wanted again at once; with more than that the consumer does not start.
	Down float64
	// Oldest is the age of the oldest ready message from which it wants more workers, however few are ready. Above half of
	// that it wants no fewer. 0 is that age does not matter; on brokers that do not tell ages it never does.
	Oldest time.Duration
}

const (
	defaultScaleUp   = 2.0
	defaultScaleDown = 0.5
)

func (b BacklogScaler) filled() BacklogScaler {
	if b.Up == 0 {
		b.Up = defaultScaleUp
	}
	if b.Down == 0 {
		b.Down = min(defaultScaleDown, b.Up/2)
	}
	return b
}

func (b BacklogScaler) validate() error {
	f := b.filled()
	switch {
	case !(b.Up >= 0) || math.IsInf(b.Up, 0):
		return fmt.Errorf("the strategy's Up is %v, want more than 0", b.Up)
	case !(b.Down >= 0 && f.Down <= f.Up/2):
		return fmt.Errorf("the strategy's Down is %v, want more than 0 and at most half of Up, which is %v", b.Down, f.Up)
	case b.Oldest < 0:
		return fmt.Errorf("the strategy's Oldest is %v, want 0 or more", b.Oldest)
	default:
		return nil
	}
}

// Scale implements [Scaler].
func (b BacklogScaler) Scale(s ScaleSnapshot) int {
	f := b.filled()
	now, each := max(s.Workers, 1), float64(max(s.PerWorker, 1))
	ready, capacity := float64(s.Ready), float64(now)*each
	old := 0.0 // how many times too old
	if b.Oldest > 0 {
		old = float64(s.Oldest) / float64(b.Oldest)
	}
	switch {
	case ready > f.Up*capacity, old > 1:
		need := max(math.Ceil(ready/(f.Up*each)), math.Ceil(float64(now)*old), float64(now+1))
		return int(min(need, float64(2*now)))
	case ready < f.Down*capacity && old <= 0.5:
		return now - 1
	default:
		return now
	}
}
