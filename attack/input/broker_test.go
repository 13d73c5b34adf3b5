package input_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// bent is a broker whose queues' receivers break their contract.
type bent struct {
	*mem.Broker
	bend func(r driver.Receiver) driver.Receiver
}

func (b bent) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Broker.OpenQueue(ctx, s)
	if err != nil {
		return nil, err
	}
	return b.bend(r), nil
}

// refusing answers the first few settlements as it is told, without having heard them.
type refusing struct {
	driver.Receiver
	left   int
	answer func(n int) error
}

func (r *refusing) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.left > 0 {
		r.left--
		return r.answer(len(batch))
	}
	return r.Receiver.Settle(ctx, batch)
}

// Drivers that answer for what they were not asked.
func TestDrivers(t *testing.T) {
	t.Parallel()
	var none *wordy
	for name, c := range map[string]struct {
		answer func(n int) error
		left   int // what the driver says it has settled and has not
	}{
		"a settlement error that is nil inside":  {func(int) error { return none }, 0},
		"a settlement error without a text":      {func(int) error { return &blank{} }, 0},
		"a batch error with no entry":            {func(int) error { return &driver.BatchError{} }, 0},
		"a batch error with too many entries":    {func(n int) error { return &driver.BatchError{Errs: make([]error, n+9)} }, 3},
		"a batch error with entries without any": {func(n int) error { return &driver.BatchError{Errs: make([]error, n)} }, 3},
		"a batch error that is wrapped twice": {func(n int) error {
			errs := make([]error, n)
			errs[0] = errors.New("not yet")
			return errors.Join(&driver.BatchError{Errs: errs}, errors.New("and more"))
		}, 2},
	} {
		attack(t, name, func(w *world) {
			w.publish("a", "b", "c")
			var n tally
			b := bent{w.b, func(r driver.Receiver) driver.Receiver { return &refusing{r, 2, c.answer} }}
			err := w.runs(wherry.Consume(wherry.Queue(b, words), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
				n.add(m.Value)
				return wherry.Ack()
			}), time.Hour)
			var undone *wherry.AbandonedError
			if left := errors.As(err, &undone); (err != nil) != (c.left > 0) || left && undone.Left != c.left {
				w.Errorf("Run: %v, want %d messages left", err, c.left)
			}
			for _, text := range []string{"a", "b", "c"} {
				if n.of(text) != 1 {
					w.Errorf("%s was handled %d times, want once", text, n.of(text))
				}
			}
		})
	}
	attack(t, "a hundred consumers of a hundred topics in one run", func(w *world) {
		var rs []wherry.Runner
		for i := range 100 {
			topic := wherry.NewTopic("t"+strconv.Itoa(i), codec.Text{})
			rs = append(rs, wherry.Consume(wherry.Queue(w.b, topic), ack))
		}
		ctx, stop := context.WithCancel(w.Context())
		time.AfterFunc(time.Minute, stop)
		if err := wherry.Run(ctx, rs...); err != nil {
			w.Error(err)
		}
		synctest.Wait()
	})
}
