package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// Nothing of the message before shows through, whichever way a value comes to its handler.
func TestValuesAreZeroedOnEveryWay(t *testing.T) {
	t.Parallel()
	one := func(seen *[]order) wherry.Handler[order] {
		return func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			*seen = append(*seen, m.Value)
			return wherry.Ack()
		}
	}
	for name, consumer := range map[string]func(q wherry.Source[order], seen *[]order) *wherry.Consumer{
		"alone": func(q wherry.Source[order], seen *[]order) *wherry.Consumer { return wherry.Consume(q, one(seen)) },
		"below middleware": func(q wherry.Source[order], seen *[]order) *wherry.Consumer {
			return wherry.Consume(q, one(seen), wherry.Use(through))
		},
		"batch": func(q wherry.Source[order], seen *[]order) *wherry.Consumer {
			return wherry.ConsumeBatch(q, func(_ context.Context, b *wherry.MessageBatch[order]) wherry.Outcome {
				for v := range b.Values() {
					*seen = append(*seen, v)
				}
				return wherry.Ack()
			}, wherry.BatchSize(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				want := []order{{ID: 1, Text: "first", Amount: 10}, {ID: 2}, {ID: 3, Text: "third"}}
				publish(t, b, orders, want...)
				var seen []order
				r := start(t, consumer(wherry.Queue(b, orders), &seen))
				synctest.Wait()
				r.mustEnd()
				assert.Equal(t, seen, want)
			})
		})
	}
}
