package wherry_test

import (
	"context"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

// What a transaction of one message allocates whose handler publishes one. Three are of the message: its scope, its context and
// the list of what was published. The rest is of the transaction: itself, at the broker too, its list of messages, its timer, what
// tells its end, the deadline of its commit and what that is given.
func TestTransactionAllocates(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	const of = 17
	b := newPlainMem(t)
	in, out := wherry.NewTopic("in", codec.BytesView{}), wherry.NewTopic("out", codec.BytesView{})
	p, err := wherry.NewPublisher(t.Context(), b, in)
	assert.NoError(t, err)
	to := wherry.NewTxPublisher(out)
	r := start(t, wherry.Consume(wherry.Transacted(b, in, wherry.Publishing(to), wherry.TxAtMost(1, time.Hour)),
		func(ctx context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
			if err := to.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		}))
	defer r.mustEnd()
	seen := echo(t, b, out)
	body := make([]byte, 64)
	n := allocations(2000, func() {
		if err := p.Publish(t.Context(), &body); err != nil {
			t.Error(err)
		}
		<-seen
	})
	if !wherry.RaceEnabled {
		assert.Equal(t, n, of)
	}
	assert.NoError(t, p.Close(t.Context()))
}
