package wherry

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

type keyType struct{}

func lazy(base context.Context, deadline driver.Stamp) *lazyContext {
	return &lazyContext{base: base, deadline: deadline, cause: ErrHandlerTimeout, clock: &clock{exact: true}}
}

func TestUntouchedContextIsUsedAgain(t *testing.T) {
	t.Parallel()
	base := context.WithValue(t.Context(), keyType{}, "kept")
	c := lazy(base, driver.StampOf(time.Now().Add(time.Minute)))
	assert.NoError(t, c.Err())
	assert.Equal(t, c.Value(keyType{}), any("kept"))
	_, ok := c.Deadline()
	assert.True(t, ok, "it has a deadline")
	assert.True(t, c.end(ErrReturned), "nobody touched it")
}

func TestDerivedContextCostsNoGoroutine(t *testing.T) { //nolint:paralleltest // It counts goroutines.
	synctest.Test(t, func(t *testing.T) {
		c := lazy(t.Context(), driver.StampOf(time.Now().Add(time.Minute)))
		before := runtime.NumGoroutine()
		var derived []context.Context
		for range 100 {
			d, cancel := context.WithTimeout(c, time.Hour)
			t.Cleanup(cancel)
			derived = append(derived, d)
		}
		assert.True(t, runtime.NumGoroutine() <= before, "no goroutine was started")
		deadline, _ := derived[0].Deadline()
		assert.Equal(t, time.Until(deadline), time.Minute)
		assert.True(t, !c.end(ErrReturned), "it was touched")
		for _, d := range derived {
			assert.ErrorIs(t, d.Err(), context.Canceled)
			assert.ErrorIs(t, context.Cause(d), ErrReturned)
		}
	})
}

func TestContextEndsAtItsDeadlineWithItsCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := lazy(t.Context(), driver.StampOf(time.Now().Add(time.Second)))
		late := lazy(t.Context(), driver.StampOf(time.Now().Add(time.Second)))
		<-asked.Done()
		for _, c := range []*lazyContext{asked, late} { // the second was not asked before its deadline
			assert.ErrorIs(t, c.Err(), context.DeadlineExceeded)
			assert.ErrorIs(t, context.Cause(c), ErrHandlerTimeout)
			c.end(ErrReturned)
			assert.ErrorIs(t, context.Cause(c), ErrHandlerTimeout)
		}
	})
}

func TestContextEndsWithItsBase(t *testing.T) {
	t.Parallel()
	base, end := context.WithCancelCause(t.Context())
	touched, untouched := lazy(base, 0), lazy(base, 0)
	done := touched.Done()
	end(ErrDraining)
	<-done
	for _, c := range []*lazyContext{touched, untouched} {
		assert.ErrorIs(t, c.Err(), context.Canceled)
		assert.ErrorIs(t, context.Cause(c), ErrDraining)
	}
}

// A million handlers that derive a context and forget to cancel it leave neither memory nor goroutines.
func TestForgottenDerivedContextsLeaveNothing(t *testing.T) { //nolint:paralleltest // It measures the heap.
	many := 1_000_000
	if RaceEnabled {
		many = 20_000
	}
	base := t.Context()
	deadline := driver.StampOf(time.Now().Add(time.Hour))
	one := func() {
		c := lazy(base, deadline)
		_, cancel := context.WithTimeout(c, time.Minute)
		_ = cancel // forgotten
		c.end(ErrReturned)
	}
	one()
	runtime.GC()
	var before, after runtime.MemStats
	goroutines := runtime.NumGoroutine()
	runtime.ReadMemStats(&before)
	for range many {
		one()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	assert.True(t, grown < 4<<20, "the heap is what it was")
	assert.True(t, runtime.NumGoroutine() <= goroutines, "no goroutine is left")
}

func TestClockIsAtMostTwoMillisecondsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c clock
		defer c.close()
		for range 1000 {
			behind := time.Since(c.now().Time())
			assert.True(t, behind >= 0 && behind <= 2*time.Millisecond, behind.String()+" behind")
			time.Sleep(137 * time.Microsecond)
		}
		time.Sleep(time.Hour) // idle: nothing ticks, and the next reading is fresh
		assert.Equal(t, time.Since(c.now().Time()), 0)
	})
}

// Who only asks for the cause sees the timeout too.
func TestCauseOfAnUntouchedContextPastItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := lazy(t.Context(), driver.StampOf(time.Now().Add(time.Second)))
		assert.NoError(t, context.Cause(c))
		time.Sleep(2 * time.Second)
		assert.ErrorIs(t, context.Cause(c), ErrHandlerTimeout)
		c.end(ErrReturned)
	})
}
