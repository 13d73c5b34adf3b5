package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/driver"
)

func TestLedgerKeepsAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(l *Ledger)
		want Report
	}{
		"nothing": {do: func(*Ledger) {}, want: Report{}},
		"one": {
			do:   func(l *Ledger) { sent(l, "a"); l.Seen("c", "a"); l.Settled("c", "a") },
			want: Report{Sent: 1, Seen: 1, Settled: 1},
		},
		"lost": {
			do:   func(l *Ledger) { sent(l, "a", "b"); l.Seen("c", "a"); l.Settled("c", "a") },
			want: Report{Sent: 2, Seen: 1, Settled: 1, Lost: []string{"b"}},
		},
		"seen, never settled, never again": {
			do:   func(l *Ledger) { sent(l, "a"); l.Seen("c", "a") },
			want: Report{Sent: 1, Seen: 1, Lost: []string{"a"}},
		},
		"duplicated": {
			do: func(l *Ledger) {
				sent(l, "a")
				for range 3 {
					l.Seen("c", "a")
					l.Settled("c", "a")
				}
			},
			want: Report{Sent: 1, Seen: 1, Settled: 1, Duplicated: []string{"a", "a"}},
		},
		"redelivered": {
			do:   func(l *Ledger) { sent(l, "a"); l.Seen("c", "a"); l.Seen("c", "a"); l.Settled("c", "a") },
			want: Report{Sent: 1, Seen: 1, Settled: 1, Redelivered: []string{"a"}},
		},
		"reordered": {
			do: func(l *Ledger) {
				sent(l, "a", "b", "c")
				for _, id := range []string{"a", "c", "b"} {
					l.Seen("c", id)
				}
				for _, id := range []string{"a", "b", "c"} {
					l.Settled("c", id)
				}
			},
			want: Report{Sent: 3, Seen: 3, Settled: 3, Reordered: []string{"b"}},
		},
		"settled out of order": {
			do: func(l *Ledger) {
				sent(l, "a", "b")
				l.Seen("c", "a")
				l.Seen("c", "b")
				l.Settled("c", "b")
				l.Settled("c", "a")
			},
			want: Report{Sent: 2, Seen: 2, Settled: 2, Reordered: []string{"a"}},
		},
		"redelivered in order": {
			do: func(l *Ledger) {
				sent(l, "a", "b")
				for range 2 {
					l.Seen("c", "a")
					l.Seen("c", "b")
				}
				l.Settled("c", "a")
				l.Settled("c", "b")
			},
			want: Report{Sent: 2, Seen: 2, Settled: 2, Redelivered: []string{"a", "b"}},
		},
		"strange": {
			do: func(l *Ledger) {
				l.Seen("c", "stranger")
				l.Sending("refused", "")
				l.Sent("refused", driver.ErrNotSent)
				l.Seen("c", "refused")
			},
			want: Report{Seen: 2, Strange: []string{"stranger", "refused"}},
		},
		"unconfirmed": {
			do: func(l *Ledger) {
				for _, id := range []string{"came", "stayed"} {
					l.Sending(id, "")
					l.Sent(id, errors.Join(driver.ErrUnconfirmed, context.Canceled))
				}
				l.Seen("c", "came")
				l.Settled("c", "came")
			},
			want: Report{Seen: 1, Settled: 1},
		},
		"seen before the send returned": {
			do: func(l *Ledger) {
				l.Sending("a", "")
				l.Seen("c", "a")
				l.Settled("c", "a")
				l.Sent("a", nil)
			},
			want: Report{Sent: 1, Seen: 1, Settled: 1},
		},
		"at another consumer": {
			do:   func(l *Ledger) { sent(l, "a"); l.Seen("other", "a"); l.Settled("other", "a") },
			want: Report{Sent: 1, Lost: []string{"a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l Ledger
			c.do(&l)
			got := l.Report("c")
			if got.String() != c.want.String() || !slices.Equal(got.Redelivered, c.want.Redelivered) {
				t.Errorf("%v, want %v", got, c.want)
			}
			if n := l.Outstanding("c"); n != len(c.want.Lost) {
				t.Errorf("%d outstanding, want %d", n, len(c.want.Lost))
			}
		})
	}
}

// sent notes confirmed sends of one key.
func sent(l *Ledger, ids ...string) {
	for _, id := range ids {
		l.Sending(id, "key")
		l.Sent(id, nil)
	}
}

// The ledger of a run over a driver that is wrong by one message in a hundred says which and how.
func TestLedgerFindsBrokenDrivers(t *testing.T) {
	t.Parallel()
	const victim = "m-0042"
	isVictim := func(d *driver.Delivery) bool { return d.ID.String() == victim }
	for name, c := range map[string]struct {
		b    broken
		of   func(Report) []string
		only bool // nothing else is wrong
	}{
		"correct": {of: func(Report) []string { return []string{victim} }, only: true},
		"loses": {
			b:    broken{send: each(func(r *driver.Record) bool { return r.ID.String() != victim })},
			of:   func(r Report) []string { return r.Lost },
			only: true,
		},
		"repeats": {
			b: broken{send: func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
				own := slices.Clone(batch)
				for i := range batch {
					if batch[i].ID.String() == victim {
						own = append(own, batch[i])
					}
				}
				return send(own)
			}},
			of: func(r Report) []string { return append(r.Duplicated, r.Redelivered...) },
		},
		"reorders": {
			b: broken{send: func(_ driver.Sender, batch []driver.Record, send sendFunc) error {
				own := slices.Clone(batch)
				for i := range own[1:] {
					if own[i].ID.String() == victim {
						own[i], own[i+1] = own[i+1], own[i]
						break
					}
				}
				return send(own)
			}},
			of: func(r Report) []string { return r.Reordered },
		},
		"settles early and stops": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				n := len(dst)
				dst, err := r.Receiver.Receive(ctx, dst)
				i := slices.IndexFunc(dst[n:], isVictim)
				if i < 0 {
					return dst, err
				}
				// It is acknowledged when it was fetched, and the process that fetched it dies.
				_ = r.Receiver.Settle(ctx, settlements(driver.Done, dst[n+i]))
				return slices.Delete(dst, n+i, n+i+1), err
			}},
			of:   func(r Report) []string { return r.Lost },
			only: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rep Report
			run := Case{Name: "ledger", kind: queueKind, Run: func(t *T) {
				l := t.line()
				c := t.crowd()
				c.consume(l.receiver())
				c.send(l.sender(), t.keyed("k", 100))
				rep = c.finish()
			}}
			if err := run.Check(t, c.b.harness()); err != nil {
				t.Fatal(err)
			}
			if got := c.of(rep); !slices.Contains(got, victim) {
				t.Errorf("%v; %s is not among them", rep, victim)
			}
			if wrong := len(rep.Lost) + len(rep.Duplicated) + len(rep.Redelivered) + len(rep.Reordered); name == "correct" != rep.Clean() ||
				c.only && name != "correct" && wrong != 1 {
				t.Errorf("%v", rep)
			}
			if text := rep.String(); !rep.Clean() && !strings.Contains(text, victim) {
				t.Errorf("%q does not name %s", text, victim)
			}
		})
	}
}
