package wherry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	defaultTimeout      = 30 * time.Second
	defaultDrain        = 30 * time.Second
	defaultGrace        = time.Second
	defaultStall        = 30 * time.Second
	defaultMaxDelivered = 20
	defaultBatchSize    = 500
	defaultBatchBytes   = 16 << 20
	defaultBatchAge     = 250 * time.Millisecond
	minPrefetch         = 32
	minVolatilePrefetch = 256

	// mostWorkers and mostLanes are beyond what a process could run, and within what it can be asked for by mistake. mostInAll is
	// the most lanes of all workers of a consumer.
	mostWorkers = 1 << 16
	mostLanes   = 1 << 16
	mostInAll   = 1 << 20

	// never is a time limit that is off.
	never = time.Duration(math.MaxInt64)
	// unlimited is a number that is off.
	unlimited = math.MaxInt
)

// A Consumer binds a source to a handler. It is made by [Consume] or [ConsumeBatch], does nothing until [Run], and may
// run again after its Run returned, not at the same time. Its methods may be called from any goroutine. A nil Consumer and the
// zero one do not run, are idle, and are not paused by a pause.
type Consumer struct {
	source  *sourceSpec
	own     consumeSpec                 // what its own options set, without defaults
	spec    consumeSpec                 // what it runs with; constant once it was placed
	newLane func(c *Consumer) laneFunc  // of single messages
	newBulk func(c *Consumer) batchFunc // of batches
	home    atomic.Pointer[Router]      // that it is mounted in; nil is none

	mu      sync.Mutex // guards the fields below, and spec until it was placed
	placed  bool       // it was prepared, with what its routers share
	under   *Router    // the outermost of them; nil is none
	left    *Router    // that it was taken out of last
	opening bool       // Prepare is under way
	running *running   // nil when not running
	reader  string     // of a broadcast, another in each run; see AnyMessage.Reader
	pauses  map[*pause]struct{}
	last    Health // of the run before
}

// consumeSpec is what options set.
type consumeSpec struct {
	settings
	name            string
	workers         int
	workersSet      bool
	scale           *scaleSpec // nil: the number of workers is fixed
	concurrency     int
	prefetch        int
	timeout         time.Duration
	drain, grace    time.Duration
	drainSet        bool
	graceSet        bool
	stallAfter      time.Duration
	maxDelivered    int
	exactTime       bool
	events          []func(Event)
	middleware      []Middleware
	batchMiddleware []BatchMiddleware
	batchSize       int
	batchBytes      int
	batchAge        time.Duration
	batchAgeSet     bool
	dedup           DedupReach // the strongest
	dedupApart      bool       // some marks are set apart from the handler's effects
}

func (c *consumeSpec) atLeastOne(what string, n int) int {
	if n < 1 {
		c.failf("%s is %d, want at least 1", what, n)
	}
	return n
}

// atMost is n, which is one of what a goroutine or a receiver each is made for.
func (c *consumeSpec) atMost(what string, n, most int) int {
	if n > most {
		c.failf("%s is %d, want at most %d", what, n, most)
		return 1
	}
	return c.atLeastOne(what, n)
}

// Consume binds a source to a handler of single messages. What is wrong with source, handler or options is reported by
// [Run], before anything is opened.
func Consume[T any](s Source[T], h Handler[T], opts ...ConsumeOption) *Consumer {
	c := newConsumer(s)
	if h == nil {
		c.spec.failf("the handler is nil")
	}
	for _, o := range opts {
		if o == nil {
			c.spec.failf("a consume option is nil")
			continue
		}
		o.applyConsume(&c.spec)
	}
	c.own = c.spec
	c.spec.fill(c.source)
	bind := bindHandler[T]
	if c.source.manner == transacted {
		bind = bindTransacted[T]
	}
	c.newLane = func(c *Consumer) laneFunc { return bind(s.topic, h, c, c.spec.middleware) }
	return c
}

// ConsumeBatch binds a source to a handler of batches: up to 500 messages, or what came within 250 ms of the first. What
// is wrong with source, handler or options is reported by [Run], before anything is opened.
func ConsumeBatch[T any](s Source[T], h BatchHandler[T], opts ...BatchOption) *Consumer {
	c := newConsumer(s)
	if h == nil {
		c.spec.failf("the handler is nil")
	}
	for _, o := range opts {
		if o == nil {
			c.spec.failf("a batch option is nil")
			continue
		}
		o.applyBatch(&c.spec)
	}
	c.own = c.spec
	c.spec.fillBatch()
	c.spec.fill(c.source)
	c.newBulk = func(c *Consumer) batchFunc { return bindBatch(s.topic, h, c, c.spec.batchMiddleware) }
	return c
}

func newConsumer[T any](s Source[T]) *Consumer {
	c := &Consumer{source: s.spec, pauses: make(map[*pause]struct{})}
	if c.source == nil {
		c.source = &sourceSpec{topic: &topicCore{}}
		c.source.failf("the source is the zero value; make one with Queue or Group")
	}
	return c
}

// fill sets the defaults of what no option set.
func (c *consumeSpec) fill(s *sourceSpec) {
	own := c.deadLetterTo
	c.settings = c.over(s.topic.settings).filled()
	c.fit(s, own)
	if c.name == "" {
		c.name = s.topic.name
		if s.group != "" {
			c.name += "/" + s.group
		}
	}
	c.fillWorkers(s)
	c.concurrency = max(c.concurrency, 1)
	if _, most := c.bounds(); most*c.concurrency > mostInAll && most <= mostWorkers {
		c.failf("%d workers of concurrency %d are %d handlers at a time, want at most %d", most, c.concurrency, most*c.concurrency, mostInAll)
	}
	setDefault(&c.timeout, defaultTimeout)
	setDefault(&c.stallAfter, defaultStall)
	if s.topic.role == driver.DeadLetter {
		setDefault(&c.maxDelivered, unlimited) // or looking at them would move them on
	}
	setDefault(&c.maxDelivered, defaultMaxDelivered)
	if !c.drainSet {
		c.drain = defaultDrain
	}
	if !c.graceSet {
		c.grace = defaultGrace
	}
}

// fit is what the source's manner of sharing means for the consumer, whose own dead-letter topic is the one given.
func (c *consumeSpec) fit(s *sourceSpec, dead string) {
	if s.manner.keeps() && c.batchSize > 0 {
		c.failf("batches do not fit a sequence or a broadcast, whose messages are retried one at a time: use Consume")
	}
	switch {
	case s.manner == transacted:
		c.fitTransactions(s)
	case s.manner == broadcasting && dead != "":
		c.failf("a broadcast has no dead letters, which would get a copy from every reader: name none (DeadLetterTo)")
	case s.manner == broadcasting:
		c.noDeadLetters, c.deadLetterTo = true, ""
	case s.manner == sequenced:
		if c.prefetch == 0 {
			c.prefetch = sequencePrefetch
		}
		if p := s.sequence.onFailure; c.noDeadLetters && (p == FailAll || p == Park) {
			c.failf("on failure %v: that needs dead letters, and there are none (NoDeadLetters)", p)
		}
	}
}

func (c *consumeSpec) fitTransactions(s *sourceSpec) {
	if c.batchSize > 0 {
		c.failf("batches do not fit transactions, which settle each message by its own outcome: use Consume, and TxAtMost for the size")
	}
	if c.prefetch != 0 {
		c.failf("prefetch does not fit transactions: their size is it (TxAtMost)")
	}
	if c.dedupApart {
		c.failf("de-duplication does not fit transactions: its mark would stay when the commit fails, and what the handler published " +
			"would be lost; use Queue or Group, or marks that are part of the transaction (UseDedup with DedupWithEffects)")
	}
	c.prefetch = s.tx.size
	c.concurrency = min(c.concurrency, s.tx.size)
}

func (c *consumeSpec) fillBatch() {
	setDefault(&c.batchSize, defaultBatchSize)
	setDefault(&c.batchBytes, defaultBatchBytes)
	if !c.batchAgeSet {
		c.batchAge = defaultBatchAge
	}
}

func setDefault[N int | time.Duration](v *N, d N) {
	if *v == 0 {
		*v = d
	}
}

// inHand is the number of messages that a worker can have with its handlers.
func (c *consumeSpec) inHand() int { return max(c.concurrency, c.batchSize) }

// credit is the number of messages that a worker may hold.
func (c *consumeSpec) credit(volatile bool) int {
	if c.prefetch != 0 {
		return max(c.prefetch, c.inHand())
	}
	least := minPrefetch
	if volatile {
		least = minVolatilePrefetch
	}
	return max(least, c.inHand(), 2*c.inHand()) // twice of a huge number is negative
}

// Name returns the consumer's name: that of the [Name] option, else its topic's, with its group's. In a [Router] with a prefix
// it is the prefix, a slash and that, from the moment that it is mounted.
func (c *Consumer) Name() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nameLocked()
}

// Run is [Run] of this consumer alone.
func (c *Consumer) Run(ctx context.Context) error { return Run(ctx, c) }

// Prepare checks the consumer and opens everything it needs, without receiving: receivers, the outlets of its retries and
// dead letters. The returned start receives until its context ends, then drains and closes; called with a context that
// has ended it drains and closes, and when [Run] does so because another runner cannot start, it only closes. Run calls
// both.
func (c *Consumer) Prepare(ctx context.Context) (start func(context.Context) error, err error) {
	if c == nil || c.source == nil {
		return nil, &Error{Op: "consume", Err: errors.New("the consumer is nil or the zero value; make one with Consume")}
	}
	c.place()
	if err := errors.Join(c.home.Load().wrong(), c.mistakes()); err != nil {
		return nil, err
	}
	if err := fleetOf(ctx).circle(c); err != nil {
		return nil, c.fail(err)
	}
	r, err := c.open(ctx)
	if err != nil {
		return nil, c.fail(err)
	}
	host := guestOf(ctx)
	r.hosted = host != nil
	r.fleet.join(r)
	return func(ctx context.Context) error {
		leave := host.enter()
		defer leave()
		err := r.run(ctx)
		c.over(r)
		if err != nil {
			err = mistakes("consume", c.spec.name, err) // one that failed may have left something undone, too
		}
		r.emit(&Stopped{Origin: r.origin, Err: err})
		return err
	}, nil
}

// open opens a run. A broker that is slow to answer holds up nobody who asks for the consumer's health, or pauses it.
func (c *Consumer) open(ctx context.Context) (*running, error) {
	c.mu.Lock()
	busy := c.opening || c.running != nil
	c.opening = c.opening || !busy
	c.mu.Unlock()
	if busy {
		return nil, ErrAlreadyRunning
	}
	r := newRunning(ctx, c)
	opened := false
	defer func() { // also when a driver panics
		if !opened {
			r.close()
			c.mu.Lock()
			c.opening = false
			c.mu.Unlock()
		}
	}()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	opened = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opening = false
	r.paused.Store(c.armPausesLocked() > 0)
	c.running = r
	if c.source.manner == broadcasting {
		c.reader = strconv.FormatUint(rand.Uint64(), 36)
	}
	return r, nil
}

// over notes the end of a run.
func (c *Consumer) over(r *running) {
	last := r.health.snapshot(r)
	last.State, last.Ready, last.Since = StateStopped, false, time.Now()
	last.Workers = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.running = last, nil
	c.disarmPausesLocked()
}

// ownDeadLetters is a consumer whose dead letters go to its own topic.
func ownDeadLetters(topic string) error {
	return fmt.Errorf("its dead letters would go to %s, where they came from: name another topic, or none (NoDeadLetters)", topic)
}

// mistakes is everything that is wrong with the declaration.
func (c *Consumer) mistakes() error {
	if err := errors.Join(c.source.err(), errors.Join(c.spec.errs...)); err != nil {
		return mistakes("consume", c.spec.name, err)
	}
	if c.deadLetterTopic() == c.source.topic.name {
		return c.fail(ownDeadLetters(c.source.topic.name))
	}
	return nil
}

func (c *Consumer) fail(err error) error {
	return &Error{Op: "consume", Topic: c.spec.name, Err: err}
}

// deadLetterTopic is where the consumer's dead letters go, empty without.
func (c *Consumer) deadLetterTopic() string {
	if c.spec.noDeadLetters {
		return ""
	}
	return c.deadLetterName()
}

// deadLetterName is where the consumer's dead letters go.
func (c *Consumer) deadLetterName() string {
	if to := c.spec.deadLetterTo; to != "" {
		return to
	}
	return deadLetterName(c.source.topic.name, c.source.group)
}

// openReceivers opens a receiver per worker.
func (c *Consumer) openReceivers(ctx context.Context) ([]driver.Receiver, error) {
	var rs []driver.Receiver
	whole := false
	defer func() {
		if !whole { // the driver panicked, and nobody else knows of those that it had opened
			for _, r := range rs {
				_ = r.Close(ctx)
			}
		}
	}()
	for i := range c.spec.workers {
		r, err := c.openReceiver(ctx)
		if err != nil {
			whole = true
			return rs, fmt.Errorf("open worker %d: %w", i+1, err)
		}
		rs = append(rs, r)
	}
	whole = true
	return rs, nil
}

// openReceiver opens one. The prefetch is stated before the receiver can say that it is volatile; the smaller number is
// right for a broker that grants credit by it.
func (c *Consumer) openReceiver(ctx context.Context) (driver.Receiver, error) {
	return c.source.open(ctx, c.source.driver(c.spec.name, c.spec.credit(false)))
}
