package wherry_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -rewrite writes it anew. got:\n%s\nwant:\n%s", name, got, want)
	}
}

func keyedTexts(name string, opts ...wherry.TopicOption) wherry.KeyedTopic[string] {
	return wherry.NewKeyedTopic(name, codec.Text{}, func(dst []byte, v *string) []byte { return append(dst, *v...) }, opts...)
}

func ackText(context.Context, *wherry.Message[string]) wherry.Outcome       { return wherry.Ack() }
func ackTexts(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }

// Different consumers, as they are explained to people, before they run and meanwhile; one of them as JSON too.
func TestExplainGolden(t *testing.T) {
	t.Parallel()
	events := wherry.NewTopic("events", codec.Text{}, wherry.Fanout("audit"))
	for name, build := range map[string]func(b *mem.Broker) *wherry.Consumer{
		"queue": func(b *mem.Broker) *wherry.Consumer { return wherry.Consume(wherry.Queue(b, texts("orders")), ackText) },
		"group": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Group(b, "audit", events), ackText, wherry.Concurrency(8), wherry.RetryWith(wherry.RetryPolicy{
				MaxAttempts: 10, Delays: []time.Duration{time.Second, time.Minute}, Jitter: wherry.NoJitter,
			}))
		},
		"batch": func(b *mem.Broker) *wherry.Consumer {
			return wherry.ConsumeBatch(wherry.Queue(b, texts("rows")), ackTexts, wherry.Name("loader"), wherry.BatchSize(100))
		},
		"no-dead-letters": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Queue(b, texts("samples")), ackText,
				wherry.NoDeadLetters(), wherry.NoHandlerTimeout(), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
		},
		"sequence": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Sequence(b, keyedTexts("accounts"), wherry.OnFailure(wherry.Park)), ackText, wherry.Concurrency(16))
		},
		"group-sequence": func(b *mem.Broker) *wherry.Consumer {
			changes := keyedTexts("changes", wherry.Fanout("audit"))
			return wherry.Consume(wherry.GroupSequence(b, "audit", changes), ackText, wherry.Name("auditor"))
		},
		"block": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Sequence(b, keyedTexts("bookings"), wherry.OnFailure(wherry.Block)), ackText,
				wherry.WorkersBetween(2, 5), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
		},
		"broadcast": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Broadcast(b, events), ackText)
		},
		"transacted": func(b *mem.Broker) *wherry.Consumer {
			out := wherry.NewTxPublisher(texts("receipts"))
			return wherry.Consume(wherry.Transacted(b, texts("payments"), wherry.Publishing(out)), ackText, wherry.Concurrency(4))
		},
		"dedup": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Queue(b, texts("payments")), ackText,
				middleware.Dedup(middleware.NewMemoryStore(0), middleware.DedupConfig{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := build(newMem(t))
				before := wherry.Explain(c)
				golden(t, "explain/"+name+".txt", before.String())
				if name == "group" {
					text, err := json.MarshalIndent(before, "", "  ")
					assert.NoError(t, err)
					golden(t, "explain/"+name+".json", string(text)+"\n")
				}
				r := start(t, c)
				synctest.Wait()
				during := wherry.Explain(c)
				assert.Equal(t, during.Consumers[0].Known, wherry.KnownRunning)
				r.mustEnd()
				assert.Equal(t, during.String(), strings.Replace(before.String(),
					string(wherry.KnownDescribed), string(wherry.KnownRunning), 1))
				assert.Equal(t, wherry.Explain(c).String(), before.String())
			})
		})
	}
}

// A said broker is one that says of itself what it was told to, and opens nothing.
type saidBroker struct {
	mutePlain
	d driver.Description
}

func (b saidBroker) Describe(driver.Source) driver.Description { return b.d }

// A mutePlain says nothing of itself.
type mutePlain struct{}

func (mutePlain) OpenSender(context.Context, driver.Target) (driver.Sender, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) OpenQueue(context.Context, driver.Source) (driver.Receiver, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) OpenSequence(context.Context, driver.Source) (driver.Receiver, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) OpenGroupSequence(context.Context, driver.Source) (driver.Receiver, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) OpenBroadcast(context.Context, driver.Source) (driver.Receiver, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) OpenGroup(context.Context, driver.Source) (driver.Receiver, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) OpenTransacted(context.Context, driver.Source) (driver.TxReceiver, error) {
	return nil, errors.ErrUnsupported
}

func (mutePlain) Close(context.Context) error { return nil }

// inspected can say how much waits.
type inspected struct{ saidBroker }

func (inspected) Depth(context.Context, driver.Source) (driver.Depth, error) {
	return driver.Depth{}, nil
}

// lasting is a broker that outlives the process and delays natively.
func lasting() driver.Description {
	return driver.Description{Info: driver.Info{HasCount: true}, Holds: true}
}

func explainOn[B interface {
	driver.Queuer
	driver.Grouper
}](b B, opts ...wherry.ConsumeOption) wherry.ConsumerExplanation {
	return wherry.Explain(wherry.Consume(wherry.Queue(b, texts("t")), ackText, opts...)).Consumers[0]
}

// The strongest level that is not proven is not printed: "effectively once" needs marks that commit with the handler's effects,
// on a broker that is known to outlive the process.
func TestExplainLevels(t *testing.T) {
	t.Parallel()
	said := func(d driver.Description, opts ...wherry.ConsumeOption) wherry.DeliveryLevel {
		return explainOn(saidBroker{d: d}, opts...).Delivery.Level
	}
	next := func(n wherry.Next) wherry.Next { return n }
	reaching := func(r wherry.DedupReach) wherry.ConsumeOption { return wherry.UseDedup(r, next, nil) }
	forgetful := driver.Description{Info: driver.Info{Volatile: true}}

	assert.Equal(t, said(lasting()), wherry.AtLeastOnce)
	assert.Equal(t, said(lasting(), reaching(wherry.DedupInProcess)), wherry.DeduplicatedInProcess)
	assert.Equal(t, said(lasting(), reaching(wherry.DedupOutlives)), wherry.DeduplicatedApart)
	assert.Equal(t, said(lasting(), reaching(wherry.DedupWithEffects)), wherry.EffectivelyOnce)
	assert.Equal(t, said(lasting(), reaching(wherry.DedupWithEffects), reaching(wherry.DedupInProcess)), wherry.EffectivelyOnce)
	for _, reach := range []wherry.DedupReach{wherry.DedupInProcess, wherry.DedupOutlives, wherry.DedupWithEffects} {
		assert.Equal(t, said(forgetful, reaching(reach)), wherry.DeduplicatedInProcess)
		unknown := explainOn(mutePlain{}, reaching(reach))
		assert.True(t, unknown.Delivery.Level != wherry.EffectivelyOnce, "nobody says that the broker outlives the process")
	}
	for store, want := range map[middleware.Store]wherry.DeliveryLevel{
		middleware.NewMemoryStore(0): wherry.DeduplicatedInProcess,
		lastingStore{}:               wherry.DeduplicatedApart,
		unsureStore{}:                wherry.DeduplicatedInProcess,
	} {
		assert.Equal(t, said(lasting(), middleware.Dedup(store, middleware.DedupConfig{})), want)
	}
	bad := explainOn(mutePlain{}, reaching(7), reaching(0), wherry.UseDedup(wherry.DedupInProcess, nil, nil))
	assert.Equal(t, bad.Mistakes, []string{
		"the reach of the de-duplication is 7, want DedupInProcess, DedupOutlives or DedupWithEffects",
		"the reach of the de-duplication is 0, want DedupInProcess, DedupOutlives or DedupWithEffects",
		"a middleware is nil",
	})
}

// lastingStore says that its marks outlive the process, unsureStore that they may not.
type (
	lastingStore struct{ middleware.Store }
	unsureStore  struct{ middleware.Store }
)

func (lastingStore) Lasts() bool { return true }
func (unsureStore) Lasts() bool  { return false }

func crashText(c *wherry.ConsumerExplanation, at string) string {
	i := slices.IndexFunc(c.Crashes, func(c wherry.Crash) bool { return c.At == at })
	if i < 0 {
		return ""
	}
	var texts []string
	for _, s := range c.Crashes[i].Then {
		texts = append(texts, s.Text)
	}
	return strings.Join(texts, " ")
}

// Fault 27: where the broker does not count, explain says that nothing ends a message that kills its process.
func TestFault27ExplainSaysWhereNothingCounts(t *testing.T) {
	t.Parallel()
	counts := explainOn(saidBroker{d: lasting()})
	assert.Equal(t, crashText(&counts, "each time that it is handled"),
		"After 20 deliveries without an outcome it is in the dead letters, reason abandoned. From half of that on it is handled alone.")
	assert.Equal(t, counts.Limits.MaxDelivered, 20)
	not := explainOn(saidBroker{})
	assert.Equal(t, crashText(&not, "each time that it is handled"),
		"The broker does not count: it comes again without end. Recover what can be recovered.")
	assert.Equal(t, not.Limits.MaxDelivered, 0)
}

func TestExplainCrashes(t *testing.T) {
	t.Parallel()
	d := lasting()
	d.Info.Lease = time.Minute
	leased := explainOn(saidBroker{d: d})
	assert.True(t, strings.Contains(crashText(&leased, "with its handler"), "At the latest after 1m0s, the lease:"), "it says when")
	exact := explainOn(saidBroker{d: lasting()}, wherry.UseDedup(wherry.DedupWithEffects, func(n wherry.Next) wherry.Next { return n }, nil))
	assert.True(t, strings.Contains(crashText(&exact, "handled, not settled"), "the handler is not called"), "its mark is there")
	plain := explainOn(saidBroker{d: lasting()})
	assert.True(t, strings.Contains(crashText(&plain, "handled, not settled"), "It comes again and is handled twice. What is handled waits up to 1ms"), "no mark")
	assert.True(t, strings.Contains(crashText(&plain, "its retry is confirmed, the original not settled"), "Both are there"), "two of it")
	dropping := explainOn(saidBroker{d: lasting()}, wherry.NoDeadLetters())
	assert.True(t, crashText(&dropping, "given up, not settled") != "" &&
		crashText(&dropping, "its dead letter is confirmed, the original not settled") == "", "it has none")
	unknown := explainOn(mutePlain{})
	assert.Equal(t, unknown.Known, wherry.KnownNot)
	assert.True(t, crashText(&unknown, "at any step") != "", "it says what is not known")
}

// The plan has the times of the broker: its grain, its longest hold, and the hold topics where it cannot delay.
func TestExplainRetryPlan(t *testing.T) {
	t.Parallel()
	steps := func(d driver.Description, p wherry.RetryPolicy) []wherry.RetryStep {
		return explainOn(saidBroker{d: d}, wherry.RetryWith(p)).Retries.Steps
	}
	const ms = time.Millisecond
	held := lasting()
	assert.Equal(t, steps(held, wherry.RetryPolicy{}), []wherry.RetryStep{
		{First: 1, Last: 1, Shortest: 200 * ms, Longest: 240 * ms},
		{First: 2, Last: 2, Shortest: 800 * ms, Longest: 960 * ms},
		{First: 3, Last: 3, Shortest: 3200 * ms, Longest: 3840 * ms},
		{First: 4, Last: 4, Shortest: 12800 * ms, Longest: 15360 * ms},
	})
	held.Info.DelayGrain, held.MaxHold = time.Second, 10*time.Second
	assert.Equal(t, steps(held, wherry.RetryPolicy{MaxAttempts: 4, Delays: []time.Duration{200 * ms, 25 * time.Second}}), []wherry.RetryStep{
		{First: 1, Last: 1, Shortest: time.Second, Longest: time.Second},
		{First: 2, Last: 3, Shortest: 25 * time.Second, Longest: 30 * time.Second, Hops: 3},
	})
	emulated := lasting()
	emulated.Holds = false
	assert.Equal(t, steps(emulated, wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{200 * ms, 1100 * ms}, Jitter: wherry.NoJitter}),
		[]wherry.RetryStep{
			{First: 1, Last: 1, Shortest: 200 * ms, Longest: 200 * ms, Via: []string{"t.hold.200ms"}},
			{First: 2, Last: 2, Shortest: 1200 * ms, Longest: 1200 * ms, Via: []string{"t.hold.800ms", "t.hold.200ms", "t.hold.200ms"}},
		})
	many := steps(lasting(), wherry.RetryPolicy{MaxAttempts: 1_000_000, Factor: 1.01, Max: time.Hour, Jitter: wherry.NoJitter})
	assert.Equal(t, len(many), 32)
	assert.Equal(t, many[31].Last, 999_999)
	assert.Equal(t, many[31].Longest, time.Hour)
	assert.Equal(t, steps(lasting(), wherry.RetryPolicy{MaxAttempts: 1 << 60}), append(steps(lasting(), wherry.RetryPolicy{}),
		wherry.RetryStep{First: 5, Last: 1<<60 - 1, Shortest: 30 * time.Second, Longest: 36 * time.Second}))
	assert.Equal(t, steps(lasting(), wherry.RetryPolicy{MaxAttempts: 1}), []wherry.RetryStep{})

	plan := explainOn(saidBroker{d: lasting()}, wherry.RetryWith(wherry.RetryPolicy{
		MaxAttempts: 1 << 60, ForError: func(error) *wherry.RetryPolicy { return nil },
	})).Retries
	assert.Equal(t, plan.Longest, time.Duration(1<<63-1))
	assert.True(t, plan.ByError, "a function chooses")
}

// The plan is what happens: each copy waits as long as the plan says, in hold topics too.
func TestExplainRetryPlanIsKept(t *testing.T) {
	t.Parallel()
	for name, weak := range map[string]mem.Weak{"held": {}, "hold topics": {NoHold: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(mem.Config{Weak: weak})
				defer b.Close(t.Context())
				var at []time.Time
				c := wherry.Consume(wherry.Queue(b, texts("t")), func(context.Context, *wherry.Message[string]) wherry.Outcome {
					at = append(at, time.Now())
					return wherry.Retry(nil)
				}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 6, Delays: []time.Duration{
					200 * time.Millisecond, 1100 * time.Millisecond, 2500 * time.Millisecond, 40 * time.Second, 7 * time.Minute,
				}}))
				publish(t, b, texts("t"), "1")
				r := start(t, c)
				time.Sleep(time.Hour)
				r.mustEnd()
				plan := wherry.Explain(c).Consumers[0].Retries
				assert.Equal(t, len(at), plan.MaxAttempts)
				for i, s := range plan.Steps {
					const slack = 10 * time.Millisecond // of the engine, for each of the topics
					if waited := at[i+1].Sub(at[i]); waited < s.Shortest || waited > s.Longest+slack*time.Duration(1+2*len(s.Via)) {
						t.Errorf("after failure %d it waited %v, planned were %v to %v", i+1, waited, s.Shortest, s.Longest)
					}
				}
			})
		})
	}
}

// Whatever a service is made of is explained or named.
func TestExplainRunners(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	var nobody *wherry.Consumer
	var none *wherry.Router
	router := wherry.NewRouter("r", wherry.Mount(
		wherry.Consume(wherry.Queue(b, texts("b")), ackText, wherry.Workers(0)), wherry.Consume(wherry.Queue(b, texts("a")), ackText)),
		wherry.Share(wherry.Prefetch(-1)))
	own := wherry.Consume(wherry.Queue(b, texts("x")), ackText, wherry.DeadLetterTo("x"))
	e := wherry.Explain(wherry.Join(router, nil, nobody, none, &wherry.Consumer{}, wherry.Join(own), clock{}))
	var names []string
	for _, c := range e.Consumers {
		names = append(names, c.Name)
	}
	assert.Equal(t, names, []string{"r/a", "r/b", "x"})
	assert.Equal(t, e.Others, []string{"nil", "nil consumer", "nil router", "nil consumer", "wherry_test.clock"})
	assert.True(t, strings.HasSuffix(e.String(), "\nnot explained: nil, nil consumer, nil router, nil consumer, wherry_test.clock\n"), "they are named")
	assert.Equal(t, e.Consumers[1].Mistakes, []string{
		"workers is 0, want at least 1", "wherry: router r: shared options: prefetch is -1, want at least 1",
	})
	assert.True(t, strings.Contains(e.String(), "DOES NOT START: workers is 0, want at least 1"), "it says so")
	wantError(t, errors.New(e.Consumers[2].Mistakes[0]), "its dead letters would go to x, where they came from")
	assert.Equal(t, wherry.Explain(nil).Others, []string{"nil"})

	var none2 wherry.Source[string]
	zero := wherry.Explain(wherry.Consume(none2, nil)).Consumers[0]
	assert.Equal(t, len(zero.Mistakes), 2)
	assert.Equal(t, zero.Broker, "<nil>")
}

// An explanation is read back from its JSON whole.
func TestExplainJSON(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	e := wherry.Explain(wherry.Join(clock{}, wherry.ConsumeBatch(wherry.Queue(b, texts("x")), ackTexts, wherry.Workers(-1))))
	text, err := json.Marshal(e)
	assert.NoError(t, err)
	var back wherry.Explanation
	assert.NoError(t, json.Unmarshal(text, &back))
	assert.True(t, reflect.DeepEqual(back, e), "what comes back is the same")

	var out strings.Builder
	n, err := e.WriteTo(&out)
	assert.NoError(t, err)
	assert.Equal(t, out.String(), e.String())
	assert.Equal(t, int(n), out.Len())
}

func TestExplainTransactions(t *testing.T) {
	t.Parallel()
	c := wherry.Consume(wherry.Transacted(newMem(t), orders), ack)
	e := wherry.Explain(c).Consumers[0]
	if e.Delivery.Level != wherry.Transactional || !strings.Contains(wherry.Explain(c).String(), "its transaction is being committed") {
		t.Errorf("%s", wherry.Explain(c))
	}
}
