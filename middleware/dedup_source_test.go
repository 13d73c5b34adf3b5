package middleware_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// A lasting store says that its marks outlive the process.
type lasting struct{ *middleware.MemoryStore }

func (lasting) Lasts() bool { return true }

// Each reader of a broadcast handles each message once, whoever shares the value or the store with it, in this process or in
// another; and a later run is another reader.
func TestDedupOfBroadcastReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		topic := wherry.NewTopic("news", codec.Text{}, wherry.Fanout())
		store := lasting{marks()}
		here := middleware.Dedup(store, middleware.DedupConfig{})
		there := middleware.Dedup(store, middleware.DedupConfig{})
		reader := func(name string, dedup wherry.ConsumerOption) *wherry.Consumer {
			h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
				r.note(name + " " + m.Value)
				return wherry.Ack()
			}
			return wherry.Consume(wherry.Broadcast(r.broker, topic), h, dedup, wherry.Name(name))
		}
		p, err := wherry.NewPublisher(t.Context(), r.broker, topic)
		assert.NoError(t, err)
		all := []wherry.Runner{reader("a", here), reader("b", here), reader("elsewhere", there)}
		for range 2 {
			go func() {
				time.Sleep(time.Second)
				for range 2 { // of which the second is a duplicate for each of them
					assert.NoError(t, p.Publish(t.Context(), new("x"), wherry.WithID("x")))
				}
			}()
			r.began = time.Now()
			r.run(time.Minute, all...)
			assert.Equal(t, r.log.sorted(), []string{"a x 1s", "b x 1s", "elsewhere x 1s"})
		}
		assert.NoError(t, p.Close(t.Context()))
		level := wherry.Explain(all[0]).Consumers[0].Delivery.Level
		assert.True(t, level != wherry.DeduplicatedApart, "the marks of a reader end with it")
	})
}

// A mark that stays when a commit fails would lose what the handler published, so that a consumer in transactions refuses it,
// also where a router gives it.
func TestDedupDoesNotFitTransactions(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	in := wherry.NewTopic("in", codec.Text{})
	h := func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }
	source := wherry.Transacted(b, in)
	const text = "wherry: consume in: de-duplication does not fit transactions: its mark would stay when the commit fails, and what " +
		"the handler published would be lost; use Queue or Group, or marks that are part of the transaction (UseDedup with DedupWithEffects)"
	same := func(next wherry.Next) wherry.Next { return next }
	sameBatch := func(next wherry.BatchNext) wherry.BatchNext { return next }
	exact := wherry.UseDedup(wherry.DedupWithEffects, same, sameBatch)
	for name, dedup := range map[string]wherry.ConsumerOption{
		"memory":  middleware.Dedup(marks(), middleware.DedupConfig{}),
		"lasting": middleware.Dedup(lasting{marks()}, middleware.DedupConfig{}),
		"own":     wherry.UseDedup(wherry.DedupOutlives, same, sameBatch),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := prepareError(t, wherry.Consume(source, h, dedup))
			assert.True(t, err != nil && err.Error() == text, "it starts, or says something else")
			err = prepareError(t, wherry.Consume(source, h, dedup, exact))
			assert.True(t, err != nil, "it starts because another middleware is right")
			_, err = wherry.NewRouter("", wherry.Share(dedup), wherry.Mount(wherry.Consume(source, h))).Prepare(t.Context())
			assert.True(t, err != nil && strings.Contains(err.Error(), text[len("wherry: consume in: "):]), "it starts in a router")
		})
	}
	assert.NoError(t, prepareError(t, wherry.Consume(source, h, exact)))
}
