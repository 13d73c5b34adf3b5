package drivertest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A flaw is a driver that is wrong in one clause, and the cases that must find it. Other cases are not looked at.
type flaw struct {
	b     broken
	h     func(h *Harness) // changes the harness of b, where that is not enough
	finds []string
	text  string // in what each of them says
}

// checkFlaws runs the cases that must fail, each of them on a right broker first.
func checkFlaws(t *testing.T, flaws map[string]flaw) {
	t.Helper()
	for name, f := range flaws {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := f.b.faulty(mem.Config{})
			if f.h != nil {
				f.h(&h)
			}
			for _, one := range f.finds {
				c := caseNamed(t, one)
				if err := c.Check(t, broken{}.faulty(mem.Config{})); err != nil {
					t.Errorf("%s: a right broker fails: %v", one, err)
				}
				if err := c.Check(t, h); err == nil || !strings.Contains(err.Error(), f.text) {
					t.Errorf("%s: %v, want an error with %q", one, err, f.text)
				}
			}
		})
	}
}

func TestFlawsOfSenders(t *testing.T) {
	t.Parallel()
	checkFlaws(t, map[string]flaw{
		"is closed, and does not say that nothing was sent": {
			b: broken{send: flat(func(err error) error {
				if errors.Is(err, driver.ErrClosed) {
					return driver.ErrClosed
				}
				return err
			})},
			finds: []string{"queue/send/closed", "group/close/broker"}, text: "does not tell whether",
		},
		"ends a Send that waits with its context": {
			b: broken{send: flat(func(err error) error {
				if errors.Is(err, driver.ErrClosed) {
					return errors.Join(driver.ErrNotSent, driver.ErrDisconnected)
				}
				return err
			})},
			finds: []string{"queue/fault/cut-close"}, text: "want ErrClosed",
		},
		"leaves a Send that waits to its context": {
			b: broken{send: flat(func(err error) error {
				if errors.Is(err, driver.ErrClosed) {
					wait(nil, time.Second)
				}
				return err
			})},
			finds: []string{"queue/fault/cut-close"}, text: "still waits",
		},
	})
}

func TestFlawsOfReceivers(t *testing.T) {
	t.Parallel()
	checkFlaws(t, map[string]flaw{
		"has other words for an outage": {
			b: broken{waiting: func(why string) string {
				if why != "" {
					return "reconnecting"
				}
				return ""
			}},
			finds: []string{"queue/fault/waiting", "group/fault/waiting"}, text: "the text of ErrDisconnected",
		},
		"hands out one delivery at a time": {
			b: broken{
				receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
					for r.unsettled.Load() > 0 {
						if err := ctx.Err(); err != nil {
							return dst, err
						}
						wait(nil, time.Millisecond)
					}
					n := len(dst)
					dst, err := r.Receiver.Receive(ctx, dst[:n:n+1])
					r.unsettled.Add(int64(len(dst) - n))
					return dst, err
				},
				settle: func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error {
					defer r.unsettled.Add(-int64(len(batch)))
					return r.Receiver.Settle(ctx, batch)
				},
			},
			finds: []string{"queue/engine/concurrency"}, text: "ran at once",
		},
		"keeps what it parsed up to the error": {
			b: broken{receive: afterReceive(func(_ *brokenReceiver, ds []*driver.Delivery) {
				for _, d := range ds {
					if strings.HasPrefix(string(d.Body), "garbage 1;r=1;") {
						d.Control = driver.Control{Redriven: true, Deferred: 5, Published: 7}
					}
				}
			})},
			finds: []string{"queue/foreign/garbage"}, text: "leave Control zero",
		},
		"hands a reserved header on": {
			b: broken{receive: afterReceive(func(_ *brokenReceiver, ds []*driver.Delivery) {
				for _, d := range ds {
					if garbage, ok := strings.CutPrefix(string(d.Body), "garbage "); ok {
						d.Headers = append(d.Headers, driver.Header{Key: driver.ControlHeader, Value: garbage})
					}
				}
			})},
			finds: []string{"queue/foreign/garbage"}, text: "leave out of Headers",
		},
	})
}

// A driver that stops its senders once a reader is far behind is found where the harness says how far that is.
func TestBacklogIsLeftBehind(t *testing.T) {
	t.Parallel()
	h := toyHarness(waitsForReaders) // at 64 records
	h.Messages = 60
	c := caseNamed(t, "broadcast/slow")
	if err := c.Check(t, h); err != nil {
		t.Errorf("with %d records: %v", h.Messages, err)
	}
	h.Backlog = 200
	if err := c.Check(t, h); err == nil {
		t.Errorf("with a backlog of %d a sender that waits for its readers passes", h.Backlog)
	}
}

// The cases that send several records in a call honour limits that take one.
func TestSmallCallsPass(t *testing.T) {
	t.Parallel()
	for what, f := range map[string]func(driver.SendLimits) driver.SendLimits{
		"one record":      func(l driver.SendLimits) driver.SendLimits { l.MaxBatch = 1; return l },
		"MaxRecord bytes": func(l driver.SendLimits) driver.SendLimits { l.MaxBytes = l.MaxRecord; return l },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := broken{limits: f}
			b.send = func(s driver.Sender, batch []driver.Record, send sendFunc) error {
				l, size := f(s.Limits()), 0
				for i := range batch {
					size += batch[i].Size()
				}
				if l.MaxBatch > 0 && len(batch) > l.MaxBatch || l.MaxBytes > 0 && len(batch) > 1 && size > l.MaxBytes {
					return errors.Join(errors.New("a call over its limits"), driver.ErrTooLarge, driver.ErrNotSent)
				}
				return send(batch)
			}
			if names := failing(t, b.faulty(mem.Config{})); len(names) > 0 {
				t.Errorf("a broker whose calls take %s fails %q", what, names)
			}
		})
	}
}
