package wherrytest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

// wants reports what is not in text.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("want %q in:\n%s", p, text)
		}
	}
}

func TestExpectTellsWhatBecameOfEach(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		in := wherrytest.Probe(tt, orders)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail,
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{time.Millisecond}})))
		in.PublishWith(order{ID: 1}, wherry.WithID("good"))
		in.PublishWith(order{ID: 2, Bad: "always"}, wherry.WithID("bad"))
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 2, Handled: 2})
	})
	wants(t, text,
		"orders: handled 1, want 2; retried 1, want 0; dead 1, want 0",
		"good  published; handled at attempt 1",
		"bad  published; attempt 1 failed: card declined; dead, exhausted: card declined")
}

func TestEachExpectationCanFail(t *testing.T) {
	t.Parallel()
	for what, expect := range map[string]func(p *wherrytest.TopicProbe[order]){
		"published 0, want 1": func(p *wherrytest.TopicProbe[order]) { p.ExpectPublished(1) },
		"handled 0, want 1":   func(p *wherrytest.TopicProbe[order]) { p.ExpectHandled(1) },
		"retried 0, want 1":   func(p *wherrytest.TopicProbe[order]) { p.ExpectRetried(1) },
		"dead 0, want 1":      func(p *wherrytest.TopicProbe[order]) { p.ExpectDead(1) },
		"deferred 0, want 1":  func(p *wherrytest.TopicProbe[order]) { p.Expect(wherrytest.Counts{Deferred: 1}) },
	} {
		text := failuresOf(t, func(tb testing.TB) { expect(wherrytest.Probe(wherrytest.New(tb), orders)) })
		wants(t, text, "orders: "+what, "nothing was published")
	}
}

func TestExpectNamesGroupsAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb, wherrytest.LeaveUndone())
		in := wherrytest.Probe(tt, events)
		tt.Run(wherry.Consume(wherry.Group(tt.Broker(), "billing", events), fail,
			wherry.RetryWith(wherry.RetryPolicy{Delays: []time.Duration{time.Hour}})))
		in.PublishWith(order{ID: 1, Bad: "once"}, wherry.WithID("one"))
		tt.Until(func() bool { return in.Counts().Retried == 1 })
		in.ExpectHandled(1)
	})
	wants(t, text, "one  published; billing: attempt 1 failed: card declined",
		"still under way, which Quiesce waits for:", "one in events/billing: attempt 2 is due in ")
}

func TestManyStoriesAreCut(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		in := wherrytest.Probe(tt, orders)
		for i := range 30 {
			in.Publish(order{ID: i})
		}
		in.ExpectHandled(30)
	})
	wants(t, text, "handled 0, want 30", "… and 10 more")
}

// The bubble's clock makes patience pass at once, although the engine's own tickers go on.
func TestQuiesceGivesUpOnABlockedHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		text := failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb)
			in := wherrytest.Probe(tt, orders)
			tb.Cleanup(func() { close(held) })
			tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders),
				func(context.Context, *wherry.Message[order]) wherry.Outcome {
					<-held
					return wherry.Ack()
				}, wherry.NoHandlerTimeout()))
			in.PublishWith(order{ID: 1}, wherry.WithID("stuck"))
			tt.Quiesce()
			tb.Error("went on after a failed Quiesce")
		})
		wants(t, text, "not quiet: nothing happened for 1m0s",
			"stuck in orders: received 1m0s ago, attempt 1, not settled",
			"consumer orders: stalled: handler blocked for")
		if strings.Contains(text, "went on") {
			t.Error(text)
		}
	})
}

func TestPatienceIsAnOption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t, wherrytest.Patience(3*time.Second))
		began := time.Now()
		text := failuresOf(t, func(tb testing.TB) {
			wherrytest.New(tb, wherrytest.Patience(3*time.Second)).Until(func() bool { return false })
		})
		wants(t, text, "the condition did not come true: nothing happened for 3s")
		assert.Equal(t, time.Since(began), 3*time.Second)
		tt.Quiesce()
	})
	text := failuresOf(t, func(tb testing.TB) { wherrytest.New(tb, wherrytest.Patience(0)) })
	wants(t, text, "patience is 0s")
}

func TestMistakesOfConsumersFailRun(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), events), fail))
		tb.Error("went on after a failed Run")
	})
	wants(t, text, "run: ", "the topic is a fan-out")
	text += failuresOf(t, func(tb testing.TB) { wherrytest.New(tb).Run() })
	wants(t, text, "nothing to run")
	if strings.Contains(text, "went on") {
		t.Error(text)
	}
}

// brief is a runner that ends by itself when it is told to.
type brief struct{ end chan struct{} }

func (b brief) Run(context.Context) error {
	<-b.end
	return errBad
}

func TestARunThatEndsByItselfIsFound(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		b := brief{make(chan struct{})}
		tt.Run(b)
		close(b.end)
		tt.Until(func() bool { return false })
	})
	wants(t, text, "a consumer ended: card declined")
}

func TestWhatIsLeftUndoneFailsTheTest(t *testing.T) {
	t.Parallel()
	leave := func(opts ...wherrytest.Option) string {
		return failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb, opts...)
			tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
			wherrytest.Probe(tt, orders).PublishWith(order{ID: 1}, wherry.WithDelay(time.Hour), wherry.WithID("late"))
		})
	}
	wants(t, leave(), "ended while messages were under way", "late in orders: attempt 1 is due in ")
	assert.Equal(t, leave(wherrytest.LeaveUndone()), "")
}

func TestAbandonedHandlersFailTheTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		text := failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb)
			in := wherrytest.Probe(tt, orders)
			began := make(chan struct{})
			tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders),
				func(context.Context, *wherry.Message[order]) wherry.Outcome {
					close(began)
					<-held
					return wherry.Ack()
				}))
			in.Publish(order{ID: 1})
			<-began
			if err := tt.Stop(); err == nil || !strings.Contains(err.Error(), "1 handler still running") {
				tb.Errorf("got %v, want one handler abandoned", err)
			}
		})
		wants(t, text, "goroutines outlived the test's consumers", "TestAbandonedHandlersFailTheTest")
		close(held)
	})
}

func TestGoroutinesOfHandlersAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		leave := func(opts ...wherrytest.Option) string {
			return failuresOf(t, func(tb testing.TB) {
				tt := wherrytest.New(tb, opts...)
				tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders),
					func(context.Context, *wherry.Message[order]) wherry.Outcome {
						go forgotten(held)
						return wherry.Ack()
					}))
				wherrytest.Probe(tt, orders).Publish(order{ID: 1})
				tt.Quiesce()
			})
		}
		wants(t, leave(), "goroutines outlived", "forgotten")
		assert.Equal(t, leave(wherrytest.KeepGoroutines()), "")
		close(held)
	})
}

func forgotten(held <-chan struct{}) { <-held }

func TestPublishFailsTheTest(t *testing.T) {
	t.Parallel()
	small := wherry.NewTopic("small", wherrytestCodec{}, wherry.BodyLimit(3))
	text := failuresOf(t, func(tb testing.TB) {
		wherrytest.Probe(wherrytest.New(tb), small).Publish("abc", "abcd", "ab")
	})
	wants(t, text, "value 2 of 3", "too large")
	text = failuresOf(t, func(tb testing.TB) {
		wherrytest.Probe(wherrytest.New(tb), wherry.NewTopic("no good", wherrytestCodec{})).Publish("a")
	})
	wants(t, text, "no good")
}

// wherrytestCodec refuses to decode what it encoded.
type wherrytestCodec struct{}

func (wherrytestCodec) Append(dst []byte, v *string) ([]byte, error) { return append(dst, *v...), nil }

func (wherrytestCodec) Decode([]byte, *string) error { return fmt.Errorf("read only: %w", errBad) }
func (wherrytestCodec) ContentType() string          { return "text/plain" }

func TestBodiesThatDoNotDecode(t *testing.T) {
	t.Parallel()
	odd := wherry.NewTopic("odd", wherrytestCodec{})
	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, odd)
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), odd), wherrytest.Record[string](nil).Handle))
	in.Publish("abc")
	tt.Quiesce()
	in.Expect(wherrytest.Counts{Published: 1, Dead: 1})
	dead := in.DeadLetters()
	assert.Equal(t, dead[0].Value.Reason, wherry.ReasonUndecodable)
	assert.Equal(t, string(dead[0].Body()), "abc")
	assert.ErrorIs(t, dead[0].Value.Err, errBad)

	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		in := wherrytest.Probe(tt, odd)
		in.PublishWith("abc", wherry.WithID("first"))
		if got := in.Published(); len(got) != 0 {
			tb.Errorf("got %v", got)
		}
	})
	wants(t, text, "first was published to odd: cannot decode 3 bytes")
}

func TestWhatNobodyConsumesIsTold(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		in, out := wherrytest.Probe(tt, events), wherrytest.Probe(tt, orders)
		in.Publish(order{ID: 1})
		out.Publish(order{ID: 1})
		tt.Quiesce()
		in.ExpectHandled(2)
		in.Group("audit").ExpectHandled(1)
	})
	wants(t, text, "nobody consumes events/audit and events/billing on the test's broker", "nobody consumes events/audit on")
	text = failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		out := wherrytest.Probe(tt, orders)
		out.Publish(order{ID: 1})
		out.ExpectPublished(2) // which is what a topic is asked that others consume
	})
	wants(t, text, "published 1, want 2")
	assert.True(t, !strings.Contains(text, "nobody"), text)
}

func TestNilsFailTheTest(t *testing.T) {
	t.Parallel()
	for want, mistake := range map[string]func(tb testing.TB){
		"an option is nil":           func(tb testing.TB) { wherrytest.New(tb, nil) },
		"the broker of OnBroker":     func(tb testing.TB) { wherrytest.New(tb, wherrytest.OnBroker(nil)) },
		"the broker of OnBroker is ": func(tb testing.TB) { wherrytest.New(tb, wherrytest.OnBroker((*mem.Broker)(nil))) },
		"the topic is nil":           func(tb testing.TB) { wherrytest.Probe[order](wherrytest.New(tb), nil) },
		"the condition is nil":       func(tb testing.TB) { wherrytest.New(tb).Until(nil) },
	} {
		wants(t, failuresOf(t, mistake), want)
	}
}

func TestABrokerThatIsClosedTooEarlyIsTold(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		b := mem.New(mem.Config{})
		defer b.Close(tb.Context())
		tt := wherrytest.New(tb, wherrytest.OnBroker(b))
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
	})
	wants(t, text, "stop: ", "closed before the test ended: a deferred call is too early")
}
