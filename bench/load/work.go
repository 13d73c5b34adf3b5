package load

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/bench/matrix"
)

const (
	waitLeast, waitMost = time.Millisecond, 5 * time.Millisecond
	slowLeast, slowMost = 50 * time.Millisecond, 300 * time.Millisecond
	slots               = 4
	slotTime            = 2 * time.Millisecond
	nap                 = 10 * time.Millisecond
	turns               = 20_000 // of a spin
)

// Work is what a handler does in one call, for a message or for the first of a batch.
type work func(ctx context.Context, id uint32)

// workOf returns the work of a kind of handler, nil for the one that does nothing.
func workOf(handler string) (work, error) {
	switch handler {
	case matrix.Zero:
		return nil, nil
	case matrix.Wait:
		return between(waitLeast, waitMost), nil
	case matrix.Slow:
		return between(slowLeast, slowMost), nil
	case matrix.Sleep:
		return between(nap, nap), nil
	case matrix.Compute:
		return spin, nil
	case matrix.Limited:
		return limited(), nil
	case matrix.Call:
		return call, nil
	default:
		return nil, fmt.Errorf("there is no handler %q", handler)
	}
}

// between sleeps for a time that depends on the message alone, spread evenly.
func between(least, most time.Duration) work {
	return func(_ context.Context, id uint32) {
		time.Sleep(least + time.Duration(mixed(uint64(id))%uint64(most-least+1)))
	}
}

// spin computes for some microseconds.
func spin(_ context.Context, id uint32) {
	x := uint64(id)
	for range turns {
		x = x*6364136223846793005 + 1442695040888963407 // Knuth, MMIX
	}
	if x == 0 {
		time.Sleep(0) // The result is used, so that it is computed.
	}
}

// call keeps a processor busy for a time by the clock, as a request to something near does whose answer is waited for actively.
func call(context.Context, uint32) {
	begun, spent := time.Now(), time.Duration(0)
	for spent < matrix.CallTime {
		spent = time.Since(begun)
	}
}

// limited waits for one of a few slots, as for a connection of a pool, and has it for a while.
func limited() work {
	free := make(chan struct{}, slots)
	return func(ctx context.Context, _ uint32) {
		select {
		case free <- struct{}{}:
			time.Sleep(slotTime)
			<-free
		case <-ctx.Done():
		}
	}
}

// mixed spreads neighbouring numbers (Steele, Lea and Flood 2014, SplitMix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
