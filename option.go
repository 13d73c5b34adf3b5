package wherry

import (
	"errors"
	"log/slog"
	"time"
)

// The type of an option says where it fits; the interfaces are sealed. An option that fits several places has each of
// their methods.
type (
	// TopicOption fits [NewTopic] and [NewKeyedTopic].
	TopicOption interface{ applyTopic(t *topicCore) }
	// PublishOption fits [NewPublisher].
	PublishOption interface{ applyPublish(p *publishSpec) }
	// TxPublishOption fits [NewTxPublisher].
	TxPublishOption interface{ applyTxPublish(p *publishSpec) }
	// SourceOption fits [Queue] and [Group].
	SourceOption interface{ applySource(s *sourceSpec) }
	// SequenceOption fits [Sequence] and [GroupSequence].
	SequenceOption interface{ applySequence(s *sourceSpec) }
	// BroadcastOption fits [Broadcast].
	BroadcastOption interface{ applyBroadcast(s *sourceSpec) }
	// TxOption fits [Transacted] and [GroupTransacted].
	TxOption interface{ applyTx(s *sourceSpec) }
	// ConsumeOption fits [Consume].
	ConsumeOption interface{ applyConsume(c *consumeSpec) }
	// BatchOption fits [ConsumeBatch].
	BatchOption interface{ applyBatch(c *consumeSpec) }

	// ConsumerOption fits every shape of handler.
	ConsumerOption interface {
		ConsumeOption
		BatchOption
	}
	// PublisherOption fits every publisher.
	PublisherOption interface {
		PublishOption
		TxPublishOption
	}
	// EndpointOption fits publishers, sources and [Redrive].
	EndpointOption interface {
		PublisherOption
		SourceOption
		SequenceOption
		BroadcastOption
		TxOption
		RedriveOption
	}
	// PolicyOption fits topics and consumers. A consumer's replaces its topic's.
	PolicyOption interface {
		TopicOption
		ConsumeOption
		BatchOption
	}
	// LimitOption fits topics, publishers and consumers. A publisher's or consumer's replaces its topic's.
	LimitOption interface {
		TopicOption
		PublisherOption
		ConsumeOption
		BatchOption
	}
)

type topicOption func(*topicCore)

func (o topicOption) applyTopic(t *topicCore) { o(t) }

type publishOption func(*publishSpec)

func (o publishOption) applyPublish(p *publishSpec) { o(p) }

type consumeOption func(*consumeSpec)

func (o consumeOption) applyConsume(c *consumeSpec) { o(c) }

type batchOption func(*consumeSpec)

func (o batchOption) applyBatch(c *consumeSpec) { o(c) }

type consumerOption func(*consumeSpec)

func (o consumerOption) applyConsume(c *consumeSpec) { o(c) }
func (o consumerOption) applyBatch(c *consumeSpec)   { o(c) }

type policyOption func(*settings)

func (o policyOption) applyTopic(t *topicCore)     { o(&t.settings) }
func (o policyOption) applyConsume(c *consumeSpec) { o(&c.settings) }
func (o policyOption) applyBatch(c *consumeSpec)   { o(&c.settings) }

type limitOption func(*settings)

func (o limitOption) applyTopic(t *topicCore)       { o(&t.settings) }
func (o limitOption) applyPublish(p *publishSpec)   { o(&p.settings) }
func (o limitOption) applyTxPublish(p *publishSpec) { o(&p.settings) }
func (o limitOption) applyConsume(c *consumeSpec)   { o(&c.settings) }
func (o limitOption) applyBatch(c *consumeSpec)     { o(&c.settings) }

// RetryWith sets the retry policy. Two on one topic, or on one consumer, are an error at start.
func RetryWith(p RetryPolicy) PolicyOption {
	return policyOption(func(s *settings) { s.setRetry(p) })
}

// DeadLetterTo names the dead-letter topic, instead of the topic's name followed by ".dlq" (in a group: the topic's, the
// group's name, ".dlq"). Two names on one topic, or on one consumer, are an error at start, and so are dead letters that would
// come back to their consumer, at once or by way of others of the same [Run].
func DeadLetterTo(topic string) PolicyOption {
	return policyOption(func(s *settings) { s.setDeadLetterTo(topic) })
}

// NoDeadLetters drops what would go to the dead letters: rejected and exhausted messages are lost, with an event each.
func NoDeadLetters() PolicyOption { return policyOption((*settings).setNoDeadLetters) }

// BodyLimit is the most bytes of a body, default 10 MiB. A larger one is [ErrTooLarge] at publish, and goes to the dead
// letters undecoded at receive.
func BodyLimit(bytes int) LimitOption {
	return limitOption(func(s *settings) { s.setBodyLimit(bytes) })
}

// HeaderLimit is the most bytes of all header keys and values of a message, default 64 KiB; beyond it as with
// [BodyLimit].
func HeaderLimit(bytes int) LimitOption {
	return limitOption(func(s *settings) { s.setHeaderLimit(bytes) })
}

// Name names the consumer in events, logs, health and the broker's own tools. Default: its topic, with its group. Of two consumers
// of one name in a [Run] both tell it, by [Started] and [Explain]; in a [Router] they are an error.
func Name(name string) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if name == "" {
			c.failf("the consumer's name is empty")
		}
		c.name = name
	})
}

// Workers is the number of receivers, each with its lanes and its prefetch. Default 1. Less than 1 and more than 65,536 are an
// error at start, and more than 1 for a broadcast and in [Pull]. It is an error beside [WorkersBetween].
func Workers(n int) ConsumerOption {
	return consumerOption(func(c *consumeSpec) { c.workers, c.workersSet = c.atMost("workers", n, mostWorkers), true })
}

// Concurrency is the number of handler calls that a worker has in flight at most. Default 1. Less than 1 and more than 65,536 are an
// error at start, and so are more than 1,048,576 over all workers. In transactions it is at most their size ([TxAtMost]).
func Concurrency(n int) ConsumeOption {
	return consumeOption(func(c *consumeSpec) { c.concurrency = c.atMost("concurrency", n, mostLanes) })
}

// Prefetch is the number of messages that a worker holds at most, those in its handlers included. Default: twice the
// concurrency or the batch size, and at least 32 (256 in process). It is never less than the concurrency or the batch.
func Prefetch(n int) ConsumerOption {
	return consumerOption(func(c *consumeSpec) { c.prefetch = c.atLeastOne("prefetch", n) })
}

// HandlerTimeout is how long a handler may take before its context ends with [ErrHandlerTimeout], default 30 s. The lane
// waits for the handler whatever it does; the outcome it then returns counts.
func HandlerTimeout(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if d <= 0 {
			c.failf("handler timeout is %v, want more than 0, or NoHandlerTimeout", d)
		}
		if c.timeout == never {
			c.failf("both HandlerTimeout and NoHandlerTimeout")
		}
		c.timeout = d
	})
}

// NoHandlerTimeout lets handlers take any time. It is an error beside [HandlerTimeout].
func NoHandlerTimeout() ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if c.timeout != 0 && c.timeout != never {
			c.failf("both HandlerTimeout and NoHandlerTimeout")
		}
		c.timeout = never
	})
}

// MaxDelivered is the number of deliveries, by the broker's count, after which a message that never had an outcome goes
// to the dead letters without a handler call, reason "abandoned". Default 20, and for a consumer of dead letters none: some
// brokers count what was only looked at and given back. It has no effect on brokers that do not count. An n of less than 1 is
// an error at start.
func MaxDelivered(n int) ConsumerOption {
	return consumerOption(func(c *consumeSpec) { c.maxDelivered = c.atLeastOne("max delivered", n) })
}

// DrainTime is how long handlers in hand may go on after Run's context ended, default 30 s. 0 ends them at once.
func DrainTime(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if d < 0 {
			c.failf("drain time is %v, want 0 or more", d)
		}
		c.drain = d
		c.drainSet = true
	})
}

// GraceTime is how long a handler has to return after the drain time ended its context, default 1 s. What has not
// returned then is abandoned.
func GraceTime(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if d < 0 {
			c.failf("grace time is %v, want 0 or more", d)
		}
		c.grace = d
		c.graceSet = true
	})
}

// StallAfter is how long a consumer may make no progress while work waits before it is not ready, default 30 s.
func StallAfter(d time.Duration) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if d <= 0 {
			c.failf("stall time is %v, want more than 0", d)
		}
		c.stallAfter = d
	})
}

// ExactTime reads the clock for every message. Without it the times of the hot path (when a handler started, for its
// timeout and its events) come from a clock that is up to 2 ms behind.
func ExactTime() ConsumerOption { return consumerOption(func(c *consumeSpec) { c.exactTime = true }) }

// OnEvent calls f with everything that happens to the consumer; see [Event]. It may be given more than once. f is called
// by the goroutine that does the work, often several at a time, and holds it up until it returns. It must not keep the
// event. A panic of f counts for nothing but that event: the first of each f in a run is told as [Panicked], without an id, and
// is in [Health.Cause]. f must not end its goroutine.
func OnEvent(f func(Event)) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if f == nil {
			c.failf("the event function is nil")
			return
		}
		c.events = append(c.events, f)
	})
}

// LogTo logs events: what needs attention as warnings and errors, starts and stops at info, and each failed attempt at
// debug. Messages that succeed are not logged, and payloads never. A nil logger is an error at start.
func LogTo(l *slog.Logger) ConsumerOption {
	return consumerOption(func(c *consumeSpec) {
		if l == nil {
			c.failf("the logger is nil")
			return
		}
		c.events = append(c.events, logEvents(l))
	})
}

// Use adds middleware to a consumer of single messages, after what earlier options added. The first listed is the
// outermost.
func Use(m ...Middleware) ConsumeOption {
	return consumeOption(func(c *consumeSpec) {
		for _, one := range m {
			if one == nil {
				c.failf("a middleware is nil")
				continue
			}
			c.middleware = append(c.middleware, one)
		}
	})
}

// UseBoth is [Use] for a consumer of single messages and [UseBatch] for one of batches, as one option: for a function that returns
// a middleware of one's own for both, and for [Share]. A nil one is an error at start of a consumer of that shape.
func UseBoth(m Middleware, b BatchMiddleware) ConsumerOption { return bothOption{m: m, b: b} }

type bothOption struct {
	m Middleware
	b BatchMiddleware
}

func (o bothOption) applyConsume(c *consumeSpec) { Use(o.m).applyConsume(c) }
func (o bothOption) applyBatch(c *consumeSpec)   { UseBatch(o.b).applyBatch(c) }

// UseBatch adds middleware to a consumer of batches, by the rule of [Use].
func UseBatch(m ...BatchMiddleware) BatchOption {
	return batchOption(func(c *consumeSpec) {
		for _, one := range m {
			if one == nil {
				c.failf("a middleware is nil")
				continue
			}
			c.batchMiddleware = append(c.batchMiddleware, one)
		}
	})
}

// Invalid is an option that makes the consumer it is given to fail at start with err. It is what a constructor of options
// outside of this package returns for arguments that are wrong, since a declaration neither panics nor returns an error.
func Invalid(err error) ConsumerOption {
	if err == nil {
		err = errors.New("an option is invalid")
	}
	return consumerOption(func(c *consumeSpec) { c.failf("%w", err) })
}

// BatchSize is the most messages of a batch, default 500.
func BatchSize(n int) BatchOption {
	return batchOption(func(c *consumeSpec) { c.batchSize = c.atLeastOne("batch size", n) })
}

// BatchBytes is the number of bytes of bodies, keys and headers at which a batch is full, default 16 MiB. The message
// that reaches it still belongs to the batch.
func BatchBytes(n int) BatchOption {
	return batchOption(func(c *consumeSpec) { c.batchBytes = c.atLeastOne("batch bytes", n) })
}

// BatchAge is how long the first message of a batch waits for others, default 250 ms. 0 takes what is there.
func BatchAge(d time.Duration) BatchOption {
	return batchOption(func(c *consumeSpec) {
		if d < 0 {
			c.failf("batch age is %v, want 0 or more", d)
		}
		c.batchAge = d
		c.batchAgeSet = true
	})
}
