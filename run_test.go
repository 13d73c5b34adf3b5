package wherry_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

// Runners that were joined are prepared, started and drained with everything else.
func TestJoinedRunnersAreOneService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		second := wherry.NewTopic("second", orders2{})
		p, err := wherry.NewPublisher(t.Context(), b, second)
		assert.NoError(t, err)
		var seen calls
		last := wherry.Consume(wherry.Queue(b, second), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		})
		first := wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Millisecond)
			if err := p.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		})
		for id := range 50 {
			publish(t, b, orders, order{ID: id})
		}
		r := start(t, wherry.Join(last), wherry.Join(wherry.Join(first)))
		synctest.Wait()
		r.mustEnd() // with 49 to go: the broker is emptied through both
		assert.Equal(t, len(seen.all()), 50)

		bad := wherry.Consume(wherry.Queue(b, orders), nil)
		err = wherry.Run(t.Context(), wherry.Join(last, bad, nil), wherry.Join())
		for _, part := range []string{"handler is nil", "runner 3 is nil", "nothing to run"} {
			assert.True(t, strings.Contains(err.Error(), part), err.Error())
		}
	})
}

func TestDeadLettersOfTheWrongKind(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	spread := wherry.NewTopic("spread", codec.Text{}, wherry.Fanout("g"))
	shared := wherry.NewTopic("shared", codec.Text{}, wherry.Fanout("g"), wherry.DeadLetterTo("graveyard"))
	for topic, want := range map[wherry.Topic[wherry.DeadLetter[string]]]string{
		wherry.DeadLetters(spread):                                       "name one with GroupDeadLetters",
		wherry.GroupDeadLetters(wherry.NewTopic("q", codec.Text{}), "g"): "is a queue and has no groups",
		wherry.GroupDeadLetters(spread, "g"):                             "",
		wherry.DeadLetters(shared):                                       "",
	} {
		_, err := wherry.NewPublisher(t.Context(), b, topic)
		if want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.True(t, err != nil && strings.Contains(err.Error(), want), want)
	}
}

func TestPublishAllRefusesOneID(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	p, err := wherry.NewPublisher(t.Context(), b, orders)
	assert.NoError(t, err)
	err = p.PublishAll(t.Context(), slices.Values([]*order{{ID: 1}, {ID: 2}}), wherry.WithID("same"))
	assert.ErrorIs(t, err, wherry.ErrNotSent)
	assert.Equal(t, depthOf(t, b, "orders"), 0)
	assert.NoError(t, p.Close(t.Context()))
}

// What cannot be built is an error before anything is received.
func TestMiddlewareThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	publish(t, b, orders, order{ID: 1})
	one := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
	many := func(context.Context, *wherry.MessageBatch[order]) wherry.Outcome { return wherry.Ack() }
	none := func(wherry.Next) wherry.Next { return nil }
	noBatch := func(wherry.BatchNext) wherry.BatchNext { return nil }
	bad := func(wherry.Next) wherry.Next { panic("no licence") }
	for want, c := range map[string]*wherry.Consumer{
		"a middleware returned nil":    wherry.Consume(wherry.Queue(b, orders), one, wherry.Use(none)),
		"a middleware returned nil ":   wherry.ConsumeBatch(wherry.Queue(b, orders), many, wherry.UseBatch(noBatch)),
		"build middleware: no licence": wherry.Consume(wherry.Queue(b, orders), one, wherry.Use(bad), wherry.Workers(3)),
	} {
		err := wherry.Run(t.Context(), c)
		assert.True(t, err != nil && strings.Contains(err.Error(), strings.TrimSpace(want)), want)
	}
	assert.Equal(t, depthOf(t, b, "orders"), 1)
}

// A policy of an error that is no policy leaves the consumer's in force.
func TestInvalidPolicyOfAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Attempt())
			return wherry.Retry(nil)
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, ForError: func(error) *wherry.RetryPolicy {
			return &wherry.RetryPolicy{MaxAttempts: -3, First: -1}
		}})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"1", "2", "3"})
	})
}

// A stop while everything is being opened is a clean one, and hides no mistake.
func TestStopWhileOpening(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	ack := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
	ended, end := context.WithCancel(t.Context())
	end()
	good := wherry.Consume(wherry.Queue(b, orders), ack)
	assert.NoError(t, wherry.Run(ended, good, wherry.Join(good)))
	err := wherry.Run(ended, good, wherry.Consume(wherry.Queue(b, orders), ack, wherry.Workers(-1)))
	assert.True(t, err != nil && strings.Contains(err.Error(), "workers is -1"), "a mistake is reported all the same")
}
