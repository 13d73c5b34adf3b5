package input_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// Each option of a consumer, with what it cannot mean.
func TestConsumerOptions(t *testing.T) {
	t.Parallel()
	policy := func(p wherry.RetryPolicy) wherry.ConsumeOption { return wherry.RetryWith(p) }
	for name, c := range map[string]struct {
		says string
		opts []wherry.ConsumeOption
	}{
		"no workers":                               {"workers is 0, want at least 1", []wherry.ConsumeOption{wherry.Workers(0)}},
		"fewer workers than none":                  {"workers is -9223372036854775808", []wherry.ConsumeOption{wherry.Workers(math.MinInt)}},
		"no lanes":                                 {"concurrency is 0, want at least 1", []wherry.ConsumeOption{wherry.Concurrency(0)}},
		"as many lanes as numbers":                 {"concurrency is 9223372036854775807, want at most 65536", []wherry.ConsumeOption{wherry.Concurrency(math.MaxInt)}},
		"workers and lanes that multiply":          {"handlers at a time, want at most 1048576", []wherry.ConsumeOption{wherry.Workers(1 << 16), wherry.Concurrency(1 << 16)}},
		"a prefetch of none":                       {"prefetch is 0, want at least 1", []wherry.ConsumeOption{wherry.Prefetch(0)}},
		"a negative prefetch":                      {"prefetch is -1", []wherry.ConsumeOption{wherry.Prefetch(-1)}},
		"a handler timeout of nothing":             {"handler timeout is 0s", []wherry.ConsumeOption{wherry.HandlerTimeout(0)}},
		"the least handler timeout that there is":  {"handler timeout is -", []wherry.ConsumeOption{wherry.HandlerTimeout(math.MinInt64)}},
		"a timeout and then none":                  {"both HandlerTimeout and NoHandlerTimeout", []wherry.ConsumeOption{wherry.HandlerTimeout(1), wherry.NoHandlerTimeout()}},
		"no timeout and then one":                  {"both HandlerTimeout and NoHandlerTimeout", []wherry.ConsumeOption{wherry.NoHandlerTimeout(), wherry.HandlerTimeout(1)}},
		"no deliveries at most":                    {"max delivered is 0", []wherry.ConsumeOption{wherry.MaxDelivered(0)}},
		"a negative drain time":                    {"drain time is -1ns", []wherry.ConsumeOption{wherry.DrainTime(-1)}},
		"a negative grace time":                    {"grace time is -1ns", []wherry.ConsumeOption{wherry.GraceTime(-1)}},
		"a stall time of nothing":                  {"stall time is 0s", []wherry.ConsumeOption{wherry.StallAfter(0)}},
		"an empty name":                            {"the consumer's name is empty", []wherry.ConsumeOption{wherry.Name("")}},
		"an event function that is nil":            {"the event function is nil", []wherry.ConsumeOption{wherry.OnEvent(nil)}},
		"a logger that is nil":                     {"the logger is nil", []wherry.ConsumeOption{wherry.LogTo(nil)}},
		"a middleware that is nil":                 {"a middleware is nil", []wherry.ConsumeOption{wherry.Use(nil)}},
		"an option that is nil":                    {"a consume option is nil", []wherry.ConsumeOption{nil}},
		"an invalid option without a reason":       {"an option is invalid", []wherry.ConsumeOption{wherry.Invalid(nil)}},
		"an invalid option with a reason":          {"as it says", []wherry.ConsumeOption{wherry.Invalid(errors.New("as it says"))}},
		"a middleware that returns nil":            {"a middleware returned nil", []wherry.ConsumeOption{wherry.Use(func(wherry.Next) wherry.Next { return nil })}},
		"a middleware that panics when it is made": {"no way in", []wherry.ConsumeOption{wherry.Use(func(wherry.Next) wherry.Next { panic("no way in") })}},
		"a body limit of nothing":                  {"body limit is 0 bytes", []wherry.ConsumeOption{wherry.BodyLimit(0)}},
		"a negative header limit":                  {"header limit is -1 bytes", []wherry.ConsumeOption{wherry.HeaderLimit(-1)}},
		"two retry policies":                       {"two retry policies", []wherry.ConsumeOption{policy(wherry.RetryPolicy{}), policy(wherry.RetryPolicy{})}},
		"fewer attempts than none":                 {"MaxAttempts is -1", []wherry.ConsumeOption{policy(wherry.RetryPolicy{MaxAttempts: -1})}},
		"a factor that is no number":               {"Factor is NaN", []wherry.ConsumeOption{policy(wherry.RetryPolicy{Factor: math.NaN()})}},
		"a jitter that is no number":               {"Jitter is NaN", []wherry.ConsumeOption{policy(wherry.RetryPolicy{Jitter: math.NaN()})}},
		"a jitter without an end":                  {"Jitter is +Inf", []wherry.ConsumeOption{policy(wherry.RetryPolicy{Jitter: math.Inf(1)})}},
		"a longest wait that is the shortest":      {"Max is 1s, shorter than First, 1m0s", []wherry.ConsumeOption{policy(wherry.RetryPolicy{First: time.Minute, Max: time.Second})}},
		"a negative wait among others":             {"Delays[1] is -1s", []wherry.ConsumeOption{policy(wherry.RetryPolicy{Delays: []time.Duration{1, -time.Second}})}},
		"dead letters and none":                    {"both NoDeadLetters and DeadLetterTo", []wherry.ConsumeOption{wherry.DeadLetterTo("a"), wherry.NoDeadLetters()}},
		"two dead-letter topics":                   {`two dead-letter topics, "a" and "b"`, []wherry.ConsumeOption{wherry.DeadLetterTo("a"), wherry.DeadLetterTo("b")}},
		"dead letters to where they came from":     {"its dead letters would go to words", []wherry.ConsumeOption{wherry.DeadLetterTo("words")}},
		"a range of workers that is upside down":   {"3 and 2 are no range", []wherry.ConsumeOption{wherry.WorkersBetween(3, 2)}},
		"workers and a range of them":              {"both Workers and WorkersBetween", []wherry.ConsumeOption{wherry.Workers(2), wherry.WorkersBetween(1, 2)}},
		"a range that is given twice":              {"WorkersBetween is given twice", []wherry.ConsumeOption{wherry.WorkersBetween(1, 2), wherry.WorkersBetween(1, 2)}},
		"a scaling strategy that is nil":           {"the strategy is nil", []wherry.ConsumeOption{wherry.WorkersBetween(1, 2, wherry.ScaleBy(nil))}},
		"to look all the time":                     {"it asks every 0s", []wherry.ConsumeOption{wherry.WorkersBetween(1, 2, wherry.ScaleEvery(0))}},
		"to look more often than is remembered":    {"want at most 1000 times", []wherry.ConsumeOption{wherry.WorkersBetween(1, 2, wherry.ScaleAfter(math.MaxInt64))}},
		"a negative cooldown":                      {"the cooldown is -1ns", []wherry.ConsumeOption{wherry.WorkersBetween(1, 2, wherry.ScaleCooldown(-1))}},
		"a scale option that is nil":               {"an option is nil", []wherry.ConsumeOption{wherry.WorkersBetween(1, 2, nil)}},
	} {
		attack(t, name, func(w *world) {
			w.refuses(w.runs(wherry.Consume(wherry.Queue(w.b, words), ack, c.opts...), time.Hour), c.says, "words")
		})
	}
}

// What is wrong with batches, sources, publishers and routers.
func TestOtherOptions(t *testing.T) {
	t.Parallel()
	batch := func(o wherry.BatchOption) func(w *world) error {
		return func(w *world) error {
			return w.runs(wherry.ConsumeBatch(wherry.Queue(w.b, words), ackAll, o), time.Hour)
		}
	}
	consume := func(s func(w *world) wherry.Source[string]) func(w *world) error {
		return func(w *world) error { return w.runs(wherry.Consume(s(w), ack), time.Hour) }
	}
	publish := func(opts ...wherry.PublishOption) func(w *world) error {
		return func(w *world) error { _, err := wherry.NewPublisher(w.Context(), w.b, words, opts...); return err }
	}
	redrive := func(opts ...wherry.RedriveOption) func(w *world) error {
		return func(w *world) error { _, err := wherry.Redrive(w.Context(), w.b, words, opts...); return err }
	}
	router := func(opts ...wherry.RouterOption) func(w *world) error {
		return func(w *world) error { return w.runs(wherry.NewRouter("r", opts...), time.Hour) }
	}
	for name, c := range map[string]struct {
		says string
		try  func(w *world) error
	}{
		"a batch of none":                    {"batch size is 0", batch(wherry.BatchSize(0))},
		"a batch of no bytes":                {"batch bytes is -1", batch(wherry.BatchBytes(-1))},
		"a batch that is older than it is":   {"batch age is -1ns", batch(wherry.BatchAge(-1))},
		"a batch option that is nil":         {"a batch option is nil", batch(nil)},
		"a batch middleware that is nil":     {"a middleware is nil", batch(wherry.UseBatch(nil))},
		"a queue of a fan-out":               {"consume it with Group", consume(func(w *world) wherry.Source[string] { return wherry.Queue(w.b, fan) })},
		"a group of a queue":                 {"declare it with Fanout", consume(func(w *world) wherry.Source[string] { return wherry.Group(w.b, "g", words) })},
		"a broadcast of a queue":             {"declare it with Fanout", consume(func(w *world) wherry.Source[string] { return wherry.Broadcast(w.b, words) })},
		"a source that is nothing":           {"the source is the zero value", consume(func(*world) wherry.Source[string] { return wherry.Source[string]{} })},
		"a topic that is nothing":            {"the topic is the zero value", consume(func(w *world) wherry.Source[string] { return wherry.Queue(w.b, wherry.Topic[string]{}) })},
		"a source option that is nil":        {"a source option is nil", consume(func(w *world) wherry.Source[string] { return wherry.Queue(w.b, words, nil) })},
		"no shards":                          {"shards is 0", consume(func(w *world) wherry.Source[string] { return wherry.Sequence(w.b, keyed, wherry.Shards(0)) })},
		"a failure policy that there is not": {"FailurePolicy(255)", consume(func(w *world) wherry.Source[string] { return wherry.Sequence(w.b, keyed, wherry.OnFailure(255)) })},
		"none may wait for a key": {"at most 0 messages of a key may wait", consume(func(w *world) wherry.Source[string] {
			return wherry.Sequence(w.b, keyed, wherry.WaitingAtMost(0, 1, 1))
		})},
		"a broadcast from nowhere": {"the time to begin at is zero", consume(func(w *world) wherry.Source[string] { return wherry.Broadcast(w.b, fan, wherry.FromTime(time.Time{})) })},
		"a broadcast from two places": {"both FromHead and FromTime", consume(func(w *world) wherry.Source[string] {
			return wherry.Broadcast(w.b, fan, wherry.FromHead(), wherry.FromTime(time.Now()))
		})},
		"a transaction of none":            {"at most 0 messages", consume(func(w *world) wherry.Source[string] { return wherry.Transacted(w.b, words, wherry.TxAtMost(0, 1)) })},
		"a transaction that is never open": {"open for at most 0s", consume(func(w *world) wherry.Source[string] { return wherry.Transacted(w.b, words, wherry.TxAtMost(1, 0)) })},
		"a transaction's publisher of nothing": {"is nil or has no topic", consume(func(w *world) wherry.Source[string] {
			return wherry.Transacted(w.b, words, wherry.Publishing((*wherry.TxPublisher[string])(nil)))
		})},
		"a handler that is nil": {"the handler is nil", func(w *world) error { return w.runs(wherry.Consume(wherry.Queue(w.b, words), nil), time.Hour) }},
		"a plain function that is nil": {"the handler is nil", func(w *world) error {
			return w.runs(wherry.Consume(wherry.Queue(w.b, words), wherry.Func[string](nil)), time.Hour)
		}},
		"nothing to run":                 {"nothing to run", func(w *world) error { return wherry.Run(w.Context()) }},
		"a runner that is nil":           {"runner 1 is nil", func(w *world) error { return w.runs(nil, time.Hour) }},
		"a runner function that is nil":  {"the function is nil", func(w *world) error { return w.runs(wherry.RunnerFunc(nil), time.Hour) }},
		"a publish timeout of nothing":   {"publish timeout is 0s", publish(wherry.PublishTimeout(0))},
		"a publish option that is nil":   {"a publish option is nil", publish(nil)},
		"a redrive of none":              {"limit is 0", redrive(wherry.RedriveLimit(0))},
		"a redrive at no rate":           {"rate is -1 a second", redrive(wherry.RedriveRate(-1))},
		"a redrive for no reason":        {"no reason is given", redrive(wherry.RedriveReason())},
		"a redrive for a made-up reason": {"there is no reason", redrive(wherry.RedriveReason("\x00whim"))},
		"a redrive by nobody":            {"the function of RedriveIf is nil", redrive(wherry.RedriveIf(nil))},
		"a redrive of a queue's group":   {"has no groups", redrive(wherry.RedriveGroup("g"))},
		"a redrive option that is nil":   {"a redrive option is nil", redrive(nil)},
		"a router option that is nil":    {"a router option is nil", router(nil)},
		"a router around nothing":        {"what is mounted is nil", router(wherry.Mount(nil))},
		"a router around a nil consumer": {"is nil or the zero value", router(wherry.Mount((*wherry.Consumer)(nil)))},
		"a router that shares a name":    {"a name cannot be shared", router(wherry.Share(wherry.Name("all")))},
		"a router that shares a nil":     {"a shared option is nil", router(wherry.Share(nil))},
		"a topic of a codec that is nil": {"the codec is nil", func(w *world) error {
			_, err := wherry.NewPublisher(w.Context(), w.b, wherry.NewTopic[string]("t", nil))
			return err
		}},
		"a keyed topic without keys": {"needs a key function", func(w *world) error {
			_, err := wherry.NewPublisher(w.Context(), w.b, wherry.NewKeyedTopic("t", codec.Text{}, nil))
			return err
		}},
		"a group that is named twice": {"is named twice", func(w *world) error {
			_, err := wherry.NewPublisher(w.Context(), w.b, wherry.NewTopic("t", codec.Text{}, wherry.Fanout("g", "g")))
			return err
		}},
	} {
		attack(t, name, func(w *world) { w.refuses(c.try(w), c.says) })
	}
}
