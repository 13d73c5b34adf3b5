package mem

import (
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
)

type Faults struct{ b *Broker }

func (f *Faults) away() error { return nil }
func (f *Faults) end()        {}

type tags struct{}
type window struct{}

func (r *receiver) trouble() (bool, error) { return false, nil }
func (r *receiver) wiped() error           { return driver.ErrDisconnected }
func (m *member) takeOdd(dst []*driver.Delivery, n int) []*driver.Delivery {
	return dst
}
func (b *Broker) allowed(q *queue) int { return q.ready.n }
func (s *sender) sendOdd(ctx context.Context, batch []driver.Record) error {
	return s.put(ctx, batch)
}
func (s *sender) sendAtOdd(ctx context.Context, batch []driver.Record, d time.Duration) error {
	return s.putAt(batch, d)
}
func (r *receiver) settleOdd(ctx context.Context, batch []driver.Settlement) error {
	return r.settle(batch)
}
func (r *receiver) Revocations() <-chan driver.Revocation { return r.revocations }
func (r *receiver) Waiting() string                       { return "" }
