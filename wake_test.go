package wherry_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

// quickMessages are more than handlers need to prove that they are quick, even where four workers share them evenly.
const quickMessages = 5000

// A quickRig is a consumer whose handler has proven to be quick, and then is what set makes it.
type quickRig struct {
	t    *testing.T
	b    *mem.Broker
	c    *wherry.Consumer
	p    *wherry.Publisher[order]
	end  func() // begins to stop it
	stop func() // and waits until it has stopped

	mu     sync.Mutex // guards the field below
	handle func(m *wherry.Message[order])
}

func startQuick(t *testing.T, opts ...wherry.ConsumeOption) *quickRig {
	t.Helper()
	r := newQuick(t, opts...)
	r.prove()
	return r
}

// newQuick starts the consumer before its handler has proven anything.
func newQuick(t *testing.T, opts ...wherry.ConsumeOption) *quickRig {
	t.Helper()
	b := mem.New(mem.Config{})
	return newQuickOn(t, b, orders, wherry.Queue(b, orders), opts...)
}

// newQuickOn is newQuick for any source.
func newQuickOn(t *testing.T, b *mem.Broker, to wherry.TopicOf[order], from wherry.Source[order], opts ...wherry.ConsumeOption) *quickRig {
	t.Helper()
	r := &quickRig{t: t, b: b, handle: func(*wherry.Message[order]) {}}
	t.Cleanup(func() { _ = r.b.Close(context.Background()) })
	var err error
	if r.p, err = wherry.NewPublisher(t.Context(), b, to); err != nil {
		t.Fatal(err)
	}
	r.c = wherry.Consume(from, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		r.mu.Lock()
		h := r.handle
		r.mu.Unlock()
		h(m)
		return wherry.Ack()
	}, opts...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- wherry.Run(ctx, r.c) }()
	r.end = cancel
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// prove has the handler prove that it is quick.
func (r *quickRig) prove() {
	r.t.Helper()
	for id := range quickMessages {
		r.send(id)
		if id%100 == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
}

func (r *quickRig) send(id int) {
	r.t.Helper()
	if err := r.p.Publish(r.t.Context(), &order{ID: id}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *quickRig) set(h func(m *wherry.Message[order])) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handle = h
}

// While handlers are quick one lane does it all, and the others sleep.
func TestQuickHandlersWakeNoLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startQuick(t, wherry.Concurrency(8))
		var mu sync.Mutex
		lanes := map[*wherry.Message[order]]int{} // each lane has a message of its own
		r.set(func(m *wherry.Message[order]) {
			mu.Lock()
			defer mu.Unlock()
			lanes[m]++
		})
		const more = 200
		for id := range more {
			r.send(id)
			synctest.Wait()
		}
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for _, n := range lanes {
			total += n
		}
		if len(lanes) != 1 || total != more {
			t.Errorf("%d lanes handled %d messages, want 1 and %d", len(lanes), total, more)
		}
	})
}

// What waits behind the first slow message of a quick handler is not held up by it.
func TestFirstSlowHandlerWakesALane(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]wherry.ConsumeOption{
		"lanes":   {wherry.Concurrency(4)},
		"workers": {wherry.Workers(4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := startQuick(t, opts...)
				const slow, after = 1, 2
				var handled time.Time
				release := make(chan struct{})
				r.set(func(m *wherry.Message[order]) {
					switch m.Value.ID {
					case slow:
						<-release
					case after:
						handled = time.Now()
						close(release)
					}
				})
				begun := time.Now()
				r.send(slow)
				synctest.Wait()
				r.send(after)
				<-release
				synctest.Wait()
				if took := handled.Sub(begun); took <= 0 || took > 2*time.Millisecond {
					t.Errorf("what came after the slow message waited %v, want some time, and two lingers of 1ms at most", took)
				}
			})
		})
	}
}
