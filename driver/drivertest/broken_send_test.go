package drivertest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A breakage is a way to be wrong and the cases that must find it.
type breakage struct {
	b    broken
	want []string // exactly these fail
	some []string // or: these fail, with others, since nothing can work
}

func checkBreakages(t *testing.T, all map[string]breakage) {
	t.Helper()
	for name, br := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			br.check(t, br.b.harness())
		})
	}
}

func (br *breakage) check(t *testing.T, h Harness) {
	t.Helper()
	failed := failing(t, h)
	for _, want := range br.some {
		if !slices.Contains(failed, want) {
			t.Errorf("%s does not fail; failing are %q", want, failed)
		}
	}
	if br.want != nil && !sameSet(failed, br.want) {
		t.Errorf("%q fail, want %q", failed, br.want)
	}
}

// each sends every record through f, which may change it, or drop it by returning false.
func each(f func(r *driver.Record) bool) func(driver.Sender, []driver.Record, sendFunc) error {
	return func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
		own := cloneRecords(batch)
		own = slices.DeleteFunc(own, func(r driver.Record) bool { return !f(&r) })
		for i := range own {
			f(&own[i])
		}
		if len(own) == 0 {
			return nil
		}
		return send(own)
	}
}

// flat turns every error of Send into f of it.
func flat(f func(error) error) func(driver.Sender, []driver.Record, sendFunc) error {
	return func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
		if err := send(batch); err != nil {
			return f(err)
		}
		return nil
	}
}

func TestBrokenSenders(t *testing.T) {
	t.Parallel()
	checkBreakages(t, map[string]breakage{
		"sorts headers": {
			b: broken{send: each(func(r *driver.Record) bool {
				slices.SortStableFunc(r.Headers, func(a, b driver.Header) int { return strings.Compare(a.Key, b.Key) })
				return true
			})},
			want: []string{"queue/send/round-trip", "queue/hold/due"},
		},
		"drops the second header of a key": {
			b: broken{send: each(func(r *driver.Record) bool {
				r.Headers = slices.CompactFunc(r.Headers, func(a, b driver.Header) bool { return a.Key == b.Key })
				return true
			})},
			want: []string{"queue/send/round-trip"},
		},
		"cuts control characters from values": {
			b: broken{send: each(func(r *driver.Record) bool {
				for i := range r.Headers {
					r.Headers[i].Value = string(bytes.Trim([]byte(r.Headers[i].Value), "\x00\x01\x7f\r\n\t"))
				}
				return true
			})},
			want: []string{"queue/send/round-trip", "queue/hold/due"},
		},
		"forgets the content type": {
			b:    broken{send: each(func(r *driver.Record) bool { r.ContentType = ""; return true })},
			want: []string{"queue/send/round-trip"},
		},
		"forgets failures": {
			b: broken{send: each(func(r *driver.Record) bool { r.Control.Failure = nil; return true })},
			some: []string{
				"queue/send/round-trip", "queue/send/sizes", "queue/send/bytes", "queue/settle/release", "topology/dead-letter",
			},
		},
		"changes the batch": {
			b: broken{send: func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
				err := send(batch)
				for i := range batch {
					batch[i].Headers = append(batch[i].Headers, driver.Header{Key: "sent", Value: "yes"})
				}
				return err
			}},
			some: []string{"queue/send/bytes"},
		},
		"loses one in fifty": {
			b:    broken{send: each(func(r *driver.Record) bool { return r.ID.String() != "m-0050" })},
			some: []string{"queue/load/ledger", "queue/load/one-sender", "queue/receive/compete", "queue/send/batch"},
		},
		"swallows unique copies": {
			b: broken{send: each(func(r *driver.Record) bool { return !r.Unique })}, want: []string{"queue/send/unique"},
		},
		"says one error for one bad record": {
			b:    broken{send: flat(func(err error) error { return errors.Join(errors.Unwrap(err), driver.ErrNotSent, driver.ErrTooLarge) })},
			some: []string{"queue/send/bad-entry"},
		},
		"gives bare errors": {
			b:    broken{send: flat(func(error) error { return errors.New("it did not work") })},
			some: []string{"queue/send/closed", "queue/send/too-large", "queue/close/broker"},
		},
		"says not sent of what was sent": {
			b: broken{send: func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
				if err := send(batch); err != nil {
					return err
				}
				if len(batch) == 3 {
					return driver.ErrNotSent
				}
				return nil
			}},
			some: []string{"queue/send/cancel"},
		},
		"has a batch error of the wrong length": {
			b:    broken{send: flat(func(err error) error { return &driver.BatchError{Errs: []error{err, err, err, err, err, err}} })},
			some: []string{"queue/send/closed", "queue/send/bad-entry"},
		},
		"sends what is too large": {
			b:    broken{limits: func(l driver.SendLimits) driver.SendLimits { l.MaxRecord = 1000; return l }},
			want: []string{"queue/send/too-large", "queue/send/bad-entry", "transact/too-large"},
		},
		"has odd limits": {
			b:    broken{limits: func(l driver.SendLimits) driver.SendLimits { l.MaxBatch, l.Batch = 10, 20; return l }},
			want: []string{"send/limits"},
		},
		"cannot be closed twice": {
			b: broken{closed: func() func(*brokenSender, context.Context) error {
				return func(s *brokenSender, ctx context.Context) error {
					if s.shut.Swap(true) {
						return driver.ErrClosed
					}
					return s.Sender.Close(ctx)
				}
			}()},
			some: []string{"queue/close/twice"},
		},
		"does not close senders": {
			b:    broken{closed: func(*brokenSender, context.Context) error { return nil }},
			want: []string{"queue/send/closed"},
		},
		"creates under verify": {
			b: broken{
				target: func(_ *mem.Broker, t driver.Target) driver.Target { t.Topology = driver.Declare; return t },
			},
			some: []string{"topology/verify-sender", "queue/topology/verify-receiver"},
		},
		"sends to every group": {
			b:    broken{target: func(_ *mem.Broker, t driver.Target) driver.Target { t.Group = ""; return t }},
			want: []string{"group/topology/verify-group", "queue/open/shape", "group/target", "group/target-kept", "group/hold/group"},
		},
	})
}

// A sender that keeps the batch and sends it later races with its caller, so only cases of one goroutine can look at it.
func TestKeptBatchIsFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"queue/send/round-trip", "queue/receive/kept", "queue/settle/done"} {
		var kept []driver.Record
		b := broken{
			send: func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
				late := kept
				if kept = batch; len(late) == 0 {
					return nil
				}
				return send(late)
			},
			closed: func(s *brokenSender, ctx context.Context) error {
				late := kept
				kept = nil
				if len(late) == 0 {
					return s.Sender.Close(ctx)
				}
				return errors.Join(s.Sender.Send(ctx, late), s.Sender.Close(ctx))
			},
		}
		if err := caseNamed(t, name).Check(t, b.harness()); err == nil || !strings.Contains(err.Error(), "poison") {
			t.Errorf("%s: %v, want an error with the poison that was sent", name, err)
		}
	}
}

// brokenCopies is a broker whose senders accept records as they should.
func brokenCopies(f func(s driver.Accepter, body []byte, contentType string, at driver.Stamp) bool) broken {
	return broken{accept: driver.Accepter.Accept, acceptCopy: f}
}

func TestBrokenAccepts(t *testing.T) {
	t.Parallel()
	var ids atomic.Int64
	checkBreakages(t, map[string]breakage{
		"keeps the caller's buffer": {
			b: broken{accept: func(s driver.Accepter, r *driver.Record) bool {
				mine := r.Body
				if !s.Accept(r) {
					return false
				}
				r.Body = mine[:0]
				return true
			}},
			want: []string{"queue/accept/whole"},
		},
		"loses what it accepts": {
			b:    broken{accept: func(_ driver.Accepter, r *driver.Record) bool { r.Body = nil; return true }},
			want: []string{"queue/accept/whole", "queue/accept/closed"},
		},
		"leaves the body": {
			b: broken{accept: func(s driver.Accepter, r *driver.Record) bool {
				ok := s.Accept(r)
				if ok {
					r.Body = append(r.Body, 1)
				}
				return ok
			}},
			want: []string{"queue/accept/whole"},
		},
		"keeps a body that it was to copy": {
			b: brokenCopies(func(s driver.Accepter, body []byte, contentType string, at driver.Stamp) bool {
				r := driver.Record{Body: body, ContentType: contentType, ID: driver.ID{Prefix: 1, Seq: uint64(ids.Add(1))}}
				r.Control.Published = at
				return s.Accept(&r)
			}),
			want: []string{"queue/accept/copy"},
		},
		"gives every body one id": {
			b: brokenCopies(func(s driver.Accepter, body []byte, contentType string, at driver.Stamp) bool {
				r := driver.Record{Body: bytes.Clone(body), ContentType: contentType, ID: driver.ID{Prefix: 1, Seq: 1}}
				r.Control.Published = at
				return s.Accept(&r)
			}),
			want: []string{"queue/accept/copy"},
		},
		"forgets the content type of a body": {
			b: brokenCopies(func(s driver.Accepter, body []byte, _ string, at driver.Stamp) bool {
				return s.AcceptCopy(body, "", at)
			}),
			want: []string{"queue/accept/copy"},
		},
		"loses the bodies that it accepts": {
			b:    brokenCopies(func(driver.Accepter, []byte, string, driver.Stamp) bool { return true }),
			want: []string{"queue/accept/copy", "queue/accept/closed"},
		},
		"changes what it does not accept": {
			b:    broken{accept: func(_ driver.Accepter, r *driver.Record) bool { r.ID.Seq++; return false }},
			want: []string{"queue/accept/whole", "queue/accept/closed"},
		},
	})
}
