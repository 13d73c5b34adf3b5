package wherry

import (
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// An Explanation says what consumers guarantee, how, and what a crash does to them. It is made by [Explain] and belongs to the
// caller. Its JSON is stable, with times in nanoseconds, and is read back into the same value; for people there are String and
// WriteTo.
type Explanation struct {
	Consumers []ConsumerExplanation `json:"consumers"`
	// Others are the types of runners that are no consumers and hold none that are known: of those nothing can be said.
	Others []string `json:"others,omitempty"`
}

// A ConsumerExplanation is what is said of one consumer.
type ConsumerExplanation struct {
	Name    string `json:"name"`
	Topic   string `json:"topic"`
	Group   string `json:"group,omitempty"` // empty in a queue
	Kind    Kind   `json:"kind"`
	Batches bool   `json:"batches"`
	Broker  string `json:"broker"` // its type
	// Known is from where it is known what the broker can.
	Known Knowledge `json:"known"`
	// Mistakes are what keeps the consumer from starting.
	Mistakes []string `json:"mistakes,omitempty"`

	Delivery DeliveryExplanation `json:"delivery"`
	Means    []Means             `json:"means"`
	Retries  RetryPlan           `json:"retries"`
	Limits   Limits              `json:"limits"`
	Crashes  []Crash             `json:"crashes"`
}

// A Kind is how a consumer gets its messages.
type Kind string

const (
	// KindQueue is one of the consumers of a queue: see [Queue].
	KindQueue Kind = "queue"
	// KindGroup is a member of a group of a fan-out: see [Group].
	KindGroup Kind = "group"
	// KindSequence is in order by key: see [Sequence].
	KindSequence Kind = "sequence"
	// KindGroupSequence is a member of a group of a fan-out, in order by key: see [GroupSequence].
	KindGroupSequence Kind = "group-sequence"
	// KindBroadcast is a reader of everything: see [Broadcast].
	KindBroadcast Kind = "broadcast"
)

// Knowledge is from where it is known what a broker can.
type Knowledge string

const (
	// KnownRunning is what the open senders and receivers of a running consumer say.
	KnownRunning Knowledge = "said by what is open"
	// KnownDescribed is what the broker says of itself before anything is open: see [driver.Describer].
	KnownDescribed Knowledge = "said by the broker"
	// KnownNot is a broker that says nothing before the consumer runs.
	KnownNot Knowledge = "not known before it runs"
)

// A DeliveryLevel is how often a message reaches its handler with effect.
type DeliveryLevel string

const (
	// AtMostOnce is a message that may be lost, and never comes twice.
	AtMostOnce DeliveryLevel = "at most once"
	// AtLeastOnce is a message that may come twice, and is not lost.
	AtLeastOnce DeliveryLevel = "at least once"
	// DeduplicatedInProcess is at least once with duplicates that are found by marks in the memory of the process.
	DeduplicatedInProcess DeliveryLevel = "at least once, de-duplicated while this process lives"
	// DeduplicatedApart is at least once with marks that outlive the process, and are set after the handler's effects.
	DeduplicatedApart DeliveryLevel = "at least once, de-duplicated but for crashes between effect and mark"
	// EffectivelyOnce is at least once with marks that outlive the process and commit with the handler's effects.
	EffectivelyOnce DeliveryLevel = "effectively once"
	// Transactional is what was received, published and settled in one atomic act of the broker.
	Transactional DeliveryLevel = "transactional"
)

// A DeliveryExplanation is a level with what makes it so and what limits it.
type DeliveryExplanation struct {
	Level   DeliveryLevel `json:"level"`
	Because []string      `json:"because"`
}

// A Statement is a sentence. One about the broker is the sentence of the case of the conformance suite that proves it, which is
// named; it holds for every broker that passes. One without a case is about the engine, or about this declaration.
type Statement struct {
	Text string `json:"text"`
	Case string `json:"case,omitempty"` // of package driver/drivertest
}

// How is who does a thing: the broker or the engine.
type How string

const (
	// ByBroker is done by the broker itself.
	ByBroker How = "native"
	// ByEngine is done by this package, on any broker.
	ByEngine How = "emulated"
	// Absent is not there.
	Absent How = "absent"
	// Unknown is not known before the consumer runs.
	Unknown How = "unknown"
)

// Means is a thing that a consumer needs, and how it is done on this broker.
type Means struct {
	What string      `json:"what"`
	How  How         `json:"how"`
	Says []Statement `json:"says"`
}

// Limits are the bounds of a consumer.
type Limits struct {
	Workers     int `json:"workers"`               // at least
	MaxWorkers  int `json:"max_workers,omitempty"` // 0 where their number is fixed
	Concurrency int `json:"concurrency"`           // handler calls of a worker at a time
	// Prefetch is what a worker holds at most. It is that of a broker that outlives the process where that is not known yet.
	Prefetch       int           `json:"prefetch"`
	HandlerTimeout time.Duration `json:"handler_timeout_ns"` // 0 is none
	DrainTime      time.Duration `json:"drain_time_ns"`
	GraceTime      time.Duration `json:"grace_time_ns"`
	StallAfter     time.Duration `json:"stall_after_ns"`
	MaxDelivered   int           `json:"max_delivered"` // 0 where the broker does not count, and under Block
	BodyLimit      int           `json:"body_limit"`    // bytes
	HeaderLimit    int           `json:"header_limit"`  // bytes
	// BatchSize, BatchBytes and BatchAge are 0 for single messages.
	BatchSize  int           `json:"batch_size,omitempty"`
	BatchBytes int           `json:"batch_bytes,omitempty"`
	BatchAge   time.Duration `json:"batch_age_ns,omitempty"`
}

// Explain says of each consumer of r what is guaranteed, what the broker does itself and what is emulated, when failed messages
// are tried again, and what a crash at each step does. r is a [Consumer], a [Router] or what [Join] made; other runners are
// named and not explained, and nil is too. It opens nothing, asks no broker, and may be called before, during and after Run;
// before it, on a broker that does not describe itself (see [driver.Describer]), some of it is not known.
func Explain(r Runner) Explanation {
	e := Explanation{Consumers: []ConsumerExplanation{}}
	e.add(r)
	e.noteNamesakes()
	return e
}

// noteNamesakes says of consumers with one name that nobody can tell them apart.
func (e *Explanation) noteNamesakes() {
	named := make(map[string]int, len(e.Consumers))
	for i := range e.Consumers {
		named[e.Consumers[i].Name]++
	}
	for i := range e.Consumers {
		if c := &e.Consumers[i]; named[c.Name] > 1 {
			c.Means = append(c.Means, Means{What: "name of its own", How: Absent, Says: []Statement{said(namesakes(c.Name))}})
		}
	}
}

func (e *Explanation) add(r Runner) {
	switch r := r.(type) {
	case nil:
		e.Others = append(e.Others, "nil")
	case joinedRunners:
		for _, one := range r {
			e.add(one)
		}
	case *Router:
		if r == nil {
			e.Others = append(e.Others, "nil router")
			return
		}
		for _, c := range r.Consumers() {
			e.add(c)
		}
	case *Consumer:
		if r == nil || r.source == nil {
			e.Others = append(e.Others, "nil consumer")
			return
		}
		e.Consumers = append(e.Consumers, explainConsumer(r))
	default:
		e.Others = append(e.Others, fmt.Sprintf("%T", r))
	}
}

// An explainer has what there is to know of one consumer.
type explainer struct {
	c      *Consumer
	source *sourceSpec
	spec   consumeSpec
	kind   Kind
	known  Knowledge
	broker driver.Description // zero where nothing is known
	out    ConsumerExplanation
}

func explainConsumer(c *Consumer) ConsumerExplanation {
	c.mu.Lock()
	spec, run := c.sharingLocked(), c.running
	c.mu.Unlock()
	e := &explainer{c: c, source: c.source, spec: spec, kind: c.source.kind(), known: KnownNot}
	if run != nil {
		e.known, e.broker = KnownRunning, run.told
	} else if b, ok := c.source.broker.(driver.Describer); ok {
		e.known, e.broker = KnownDescribed, b.Describe(c.source.driver(spec.name, spec.credit(false)))
	}
	e.out = ConsumerExplanation{
		Name: spec.name, Topic: c.source.topic.name, Group: c.source.group, Kind: e.kind, Batches: c.newBulk != nil,
		Broker: fmt.Sprintf("%T", c.source.broker), Known: e.known, Mistakes: e.mistakes(),
		Means: []Means{}, Crashes: []Crash{},
	}
	e.out.Delivery = e.delivery()
	e.explainKind()
	e.shared()
	e.out.Retries = e.retries()
	e.out.Limits = e.limits()
	e.crashes()
	return e.out
}

// mistakes are the texts of what keeps the consumer from starting, as far as that is known without opening.
func (e *explainer) mistakes() []string {
	err := errors.Join(e.source.err(), errors.Join(e.spec.errs...), e.c.home.Load().wrong())
	if e.deadLetters() == e.source.topic.name {
		err = errors.Join(err, ownDeadLetters(e.source.topic.name))
	}
	if err == nil {
		return nil
	}
	var texts []string
	for _, each := range separate(err) {
		texts = append(texts, each.Error())
	}
	return texts
}

// deadLetters is the topic of the dead letters, empty without.
func (e *explainer) deadLetters() string {
	switch {
	case e.spec.noDeadLetters:
		return ""
	case e.spec.deadLetterTo != "":
		return e.spec.deadLetterTo
	default:
		return deadLetterName(e.source.topic.name, e.source.group)
	}
}

// forgets reports whether the broker is known to forget at exit.
func (e *explainer) forgets() bool { return e.broker.Info.Volatile }

// delivery is the level. The strongest that is not proven is not given.
func (e *explainer) delivery() DeliveryExplanation {
	if e.kind == KindBroadcast && e.source.from == (driver.Position{}) {
		return DeliveryExplanation{Level: AtMostOnce, Because: []string{
			"A reader sees what is published while it runs: what it had not handled when it ends is lost to it.",
			"A message that fails is tried again in memory, and is then dropped, with an event.",
		}}
	}
	d := DeliveryExplanation{Level: AtLeastOnce}
	say := func(text string) { d.Because = append(d.Because, text) }
	if e.source.manner != transacted {
		say("A message is settled after its outcome is known and, where it moves, after its copy is confirmed.")
	}
	switch reach := e.spec.dedup; {
	case e.source.manner == transacted:
		d.Level = Transactional
		e.becauseTransactional(say)
	case reach == DedupInProcess:
		d.Level = DeduplicatedInProcess
		say("Duplicates are found by marks in the memory of this process, which a crash forgets.")
	case reach > DedupNone && e.kind == KindBroadcast:
		d.Level = DeduplicatedInProcess
		say("Duplicates are found by the marks of a reader, which ends with its run.")
	case reach > DedupNone && e.forgets():
		d.Level = DeduplicatedInProcess
		say("Duplicates are found by marks that outlive the process, which the broker's messages do not.")
	case reach == DedupOutlives || reach == DedupWithEffects && e.known == KnownNot:
		d.Level = DeduplicatedApart
		say("Duplicates are found by marks that outlive the process. A crash between a handler's effect and its mark has the message handled again.")
	case reach == DedupWithEffects:
		d.Level = EffectivelyOnce
		say("Duplicates are found by marks that outlive the process and, by the word of who set them, commit with the handler's effects.")
	}
	switch {
	case e.known == KnownNot:
		say("Whether the broker keeps its messages over a crash of this process is not known before the consumer runs.")
	case e.forgets():
		say("The broker lives in this process and forgets with it: this holds while the process lives, and a crash loses what the broker has.")
	}
	if e.deadLetters() == "" {
		say("Without dead letters a message that is rejected or given up is lost, with an event.")
	}
	return d
}

func (e *explainer) limits() Limits {
	s := &e.spec
	l := Limits{
		Workers: s.workers, Concurrency: s.concurrency, Prefetch: s.credit(e.forgets()), HandlerTimeout: s.timeout,
		DrainTime: s.drain, GraceTime: s.grace, StallAfter: s.stallAfter, MaxDelivered: s.maxDelivered,
		BodyLimit: s.bodyLimit, HeaderLimit: s.headerLimit,
		BatchSize: s.batchSize, BatchBytes: s.batchBytes, BatchAge: s.batchAge,
	}
	if s.timeout == never {
		l.HandlerTimeout = 0
	}
	if e.known != KnownNot && !e.broker.Info.HasCount {
		l.MaxDelivered = 0
	}
	if e.blocks() || s.maxDelivered == unlimited {
		l.MaxDelivered = 0
	}
	if s.scale != nil && s.scale.most > l.Workers {
		l.MaxWorkers = s.scale.most
	}
	return l
}

// toldBy is what an open consumer's sender and receiver say of themselves.
func toldBy(o *outlet, recv driver.Receiver) driver.Description {
	d := driver.Description{Info: recv.Info(), Holds: o.holder != nil}
	if d.Holds {
		d.MaxHold = o.holder.MaxHold()
	}
	_, d.Revokes = recv.(driver.Revoker)
	if tx, ok := recv.(*txReceiver); ok {
		d.Info, d.Revokes = tx.recv.Info(), tx.revoker != nil
	}
	return d
}
