package drivertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// What hangs or leaves goroutines behind ends a bubble with a panic, so these run outside, one case each.
func TestHangingBrokers(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	for name, br := range map[string]struct {
		b    broken
		fail string
		text string
	}{
		"drops what came when the context ended": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				n := len(dst)
				dst, err := r.Receiver.Receive(ctx, dst)
				if r.count += len(dst) - n; r.count > 150 {
					r.count = 0
					return dst[:n], context.DeadlineExceeded
				}
				return dst, err
			}},
			fail: "queue/receive/stop-loses-nothing", text: "missing",
		},
		"returns long after its context": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				dst, err := r.Receiver.Receive(ctx, dst)
				if ctx.Err() != nil {
					wait(stop, 400*time.Millisecond)
				}
				return dst, err
			}},
			fail: "queue/receive/stop", text: "after its context's end",
		},
		"does not return after its context": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				dst, err := r.Receiver.Receive(ctx, dst)
				if ctx.Err() != nil {
					wait(stop, time.Hour)
				}
				return dst, err
			}},
			fail: "queue/receive/stop", text: "did not return within",
		},
		"leaves goroutines": {
			b: broken{open: func(_ *mem.Broker, s driver.Source) (driver.Source, error) {
				go wait(stop, time.Hour)
				return s, nil
			}},
			fail: "queue/bounds/goroutines", text: "goroutines before",
		},
		"does not wake a receive that waits": {
			b:    broken{closing: func(*brokenReceiver, context.Context) error { return nil }},
			fail: "queue/close/beside-receive", text: "still waits",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := caseNamed(t, br.fail).Check(t, br.b.quick())
			if err == nil || !strings.Contains(err.Error(), br.text) {
				t.Errorf("%s: %v, want an error with %q", br.fail, err, br.text)
			}
		})
	}
}

// wait waits for d, or for the end of the test.
func wait(stop <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
	case <-timer.C:
	}
}

func caseNamed(t *testing.T, name string) Case {
	t.Helper()
	for _, c := range Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no case %q", name)
	return Case{}
}
