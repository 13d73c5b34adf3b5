package mem_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// transactor sends n records to a new broker and opens a receiver of them.
func transactor(t *testing.T, n int) (*mem.Broker, driver.TxReceiver) {
	t.Helper()
	b := open(t, mem.Config{Poison: true})
	s := sender(t, b, driver.Target{Topic: queueTopic("in")})
	batch := make([]driver.Record, n)
	for i := range batch {
		batch[i] = driver.Record{ID: driver.ID{Prefix: 1, Seq: uint64(i) + 1}, Key: []byte("key"), Body: []byte("body")}
	}
	if err := s.Send(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	x, err := b.OpenTransacted(t.Context(), driver.Source{Topics: []driver.Topic{queueTopic("in")}, Prefetch: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close(t.Context()) })
	return b, x
}

func nextOf(t *testing.T, x driver.TxReceiver, n int) ([]*driver.Delivery, driver.Tx) {
	t.Helper()
	ds, tx, err := x.Next(t.Context(), make([]*driver.Delivery, 0, n))
	if err != nil || len(ds) != n {
		t.Fatalf("Next brought %d deliveries and %v, want %d", len(ds), err, n)
	}
	return ds, tx
}

func doneOf(ds ...*driver.Delivery) []driver.Settlement {
	ss := make([]driver.Settlement, len(ds))
	for i, d := range ds {
		ss[i] = driver.Settlement{Delivery: d, Verdict: driver.Done}
	}
	return ss
}

// However a transaction ends, what it did not settle stays as it is: its handler may still read it. It is no further delivery when
// it comes again.
func TestFault32TransactionLeavesMemoryAlone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *mem.Broker, x driver.TxReceiver, ds []*driver.Delivery, tx driver.Tx) error{
		"aborted": func(_ *mem.Broker, _ driver.TxReceiver, _ []*driver.Delivery, tx driver.Tx) error {
			return tx.Abort(t.Context())
		},
		"not given": func(_ *mem.Broker, _ driver.TxReceiver, ds []*driver.Delivery, tx driver.Tx) error {
			return tx.Commit(t.Context(), doneOf(ds[2]))
		},
		"refused": func(b *mem.Broker, _ driver.TxReceiver, ds []*driver.Delivery, tx driver.Tx) error {
			b.Faults().FailSettle("in", 1)
			if tx.Commit(t.Context(), doneOf(ds...)) == nil {
				return errors.New("a commit that was to fail returned nil")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, x := transactor(t, 3)
			ds, tx := nextOf(t, x, 3)
			if err := end(b, x, ds, tx); err != nil {
				t.Fatal(err)
			}
			for _, d := range ds[:2] {
				if string(d.Body) != "body" || string(d.Key) != "key" || d.ID.Prefix != 1 {
					t.Errorf("a delivery that was not settled has become %q %q %v", d.Key, d.Body, d.ID)
				}
			}
			again, tx := nextOf(t, x, 2)
			for _, d := range again {
				if slices.Contains(ds, d) {
					t.Error("it came again in the same memory")
				}
				if d.Delivered != 1 {
					t.Errorf("it came again as delivery %d, want 1: nothing failed", d.Delivered)
				}
			}
			if err := tx.Commit(t.Context(), doneOf(again...)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A delivery of a transaction that is over fails the whole commit: nothing of it is settled or sent.
func TestCommitWithStrangerDoesNothing(t *testing.T) {
	t.Parallel()
	b, x := transactor(t, 2)
	stale, tx := nextOf(t, x, 2)
	if err := tx.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	ds, tx := nextOf(t, x, 2)
	if err := tx.Send(t.Context(), driver.Target{Topic: queueTopic("out")}, []driver.Record{{Body: []byte("sent")}}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context(), doneOf(ds[0], stale[1])); !errors.Is(err, driver.ErrRevoked) {
		t.Errorf("the commit returned %v, want ErrRevoked", err)
	}
	depth, err := b.Depth(t.Context(), driver.Source{Topics: []driver.Topic{queueTopic("out")}})
	if err != nil || depth.Ready != 0 {
		t.Errorf("%d records were sent, %v", depth.Ready, err)
	}
	ds, tx = nextOf(t, x, 2)
	if err := tx.Commit(t.Context(), doneOf(ds...)); err != nil {
		t.Error(err)
	}
}
