package wherry_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// allocations runs f once to warm up and then measures it. It is not for tests that run beside others.
func allocations(runs int, f func()) float64 {
	for range 100 {
		f()
	}
	return testing.AllocsPerRun(runs, f)
}

// newPlainMem is a broker without poison, which would never use memory again.
func newPlainMem(t *testing.T) *mem.Broker {
	t.Helper()
	b := mem.New(mem.Config{})
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

// echo is a consumer whose handler tells when it is done, so that a test can wait for each message.
func echo[T any](t *testing.T, b *mem.Broker, topic wherry.Topic[T], opts ...wherry.ConsumeOption) (handled <-chan struct{}) {
	t.Helper()
	done := make(chan struct{}, 1)
	r := start(t, wherry.Consume(wherry.Queue(b, topic), func(context.Context, *wherry.Message[T]) wherry.Outcome {
		done <- struct{}{}
		return wherry.Ack()
	}, opts...))
	t.Cleanup(r.mustEnd)
	return done
}

func TestReceivePathAllocatesNothing(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	topic := wherry.NewTopic("bytes", codec.BytesView{})
	//nolint:paralleltest // As above.
	for name, opts := range map[string][]wherry.ConsumeOption{
		"one lane, two middlewares": {wherry.Use(through, through)},
		"four lanes":                {wherry.Use(through, through), wherry.Concurrency(4)},
		"four workers":              {wherry.Use(through, through), wherry.Workers(4)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPlainMem(t)
			p, err := wherry.NewPublisher(t.Context(), b, topic)
			assert.NoError(t, err)
			handled := echo(t, b, topic, opts...)
			body := make([]byte, 64)
			n := allocations(2000, func() {
				if err := p.Publish(t.Context(), &body, wherry.WithHeader("k", "v"), wherry.WithKey(body[:4])); err != nil {
					t.Error(err)
				}
				<-handled
			})
			if !wherry.RaceEnabled {
				assert.Equal(t, n, 0)
			}
			assert.NoError(t, p.Close(t.Context()))
		})
	}
}

// The JSON codec allocates what encoding/json does, and the engine adds nothing.
func TestJSONAllocatesWhatEncodingJSONDoes(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	b := newPlainMem(t)
	p, err := wherry.NewPublisher(t.Context(), b, orders)
	assert.NoError(t, err)
	handled := echo(t, b, orders)
	v := order{ID: 7, Text: "a text that is decoded", Amount: 3}
	var into order
	alone := allocations(2000, func() {
		body, _ := json.Marshal(&v)
		into = order{}
		_ = json.Unmarshal(body, &into)
	})
	through := allocations(2000, func() {
		if err := p.Publish(t.Context(), &v); err != nil {
			t.Error(err)
		}
		<-handled
	})
	if !wherry.RaceEnabled {
		assert.Equal(t, through, alone)
	}
	assert.True(t, alone > 0, "encoding/json allocates")
	assert.NoError(t, p.Close(t.Context()))
}

func TestBatchPathAllocatesNothing(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	topic := wherry.NewTopic("bytes", codec.BytesView{})
	b := newPlainMem(t)
	p, err := wherry.NewPublisher(t.Context(), b, topic)
	assert.NoError(t, err)
	done := make(chan int, 1)
	r := start(t, wherry.ConsumeBatch(wherry.Queue(b, topic), func(_ context.Context, mb *wherry.MessageBatch[[]byte]) wherry.Outcome {
		done <- mb.Len()
		return wherry.Ack()
	}, wherry.BatchSize(10), wherry.BatchAge(0)))
	defer r.mustEnd()
	body := make([]byte, 64)
	n := allocations(1000, func() {
		for range 10 {
			if err := p.Publish(t.Context(), &body); err != nil {
				t.Error(err)
			}
		}
		for seen := 0; seen < 10; {
			seen += <-done
		}
	})
	if !wherry.RaceEnabled {
		assert.True(t, n < 1, "less than one allocation for ten messages")
	}
	assert.NoError(t, p.Close(t.Context()))
}
