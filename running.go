package wherry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/ear"
)

// settleTimeout bounds a call that settles or moves. It is the engine's own time: a message whose handler used up its
// deadline is settled all the same.
const settleTimeout = 10 * time.Second

// running is one Run of a consumer, from Prepare to the end. Its phases are intake, hand, settle and close: first nothing
// more is received, then handlers in hand end, then their outcomes are settled, then everything is closed.
type running struct {
	c      *Consumer
	origin Origin
	clock  clock
	health healthState
	fleet  *fleet
	aside  asides
	events []*listener // those of its options, and the broker's where that is a test's

	crew    crew
	retries *outlet // back to the source: the topic, or the group alone
	dead    *outlet // nil without dead letters
	holds   *holdConsumer
	outputs map[any]*publisherCore // of transactions

	// patience ends before the intake: from then on a batch is full with what is there.
	patience context.Context //nolint:containedctx // A phase of the run, which outlives every call.
	hurry    context.CancelFunc

	volatile bool
	told     driver.Description // by what is open
	alone    bool               // it is stopped while its fleet goes on, which forgets nothing
	hosted   bool               // by a guest of the fleet
	looped   bool               // by a loop over its messages, which nobody tends
	paused   atomic.Bool
	closed   atomic.Bool   // by the fleet's quarantine
	draining atomic.Bool   // the handlers' context has ended
	failed   chan struct{} // closed by the first fail
	failOnce sync.Once
	failure  error
	closing  sync.Once

	toldStarted bool      // the consumer's lock guards it and
	tellsPauses bool      // somebody tells of a pause, and of what follows from it
	pausedSince time.Time // when the run began to stand still, as was told last; zero while it does not
	wentOn      time.Time // when its last pause ended
}

// closedUnder ends the run with the broker, or a receiver, that was closed while it needed it.
func (r *running) closedUnder(err error) {
	if r.looped {
		r.fail(&loopCutError{err})
		return
	}
	r.fail(&closedUnderError{err})
}

func newRunning(ctx context.Context, c *Consumer) *running {
	r := &running{
		c: c, failed: make(chan struct{}), fleet: fleetOf(ctx),
		origin: Origin{Consumer: c.spec.name, Topic: c.source.topic.name, Group: c.source.group},
	}
	r.clock.exact, r.clock.began = c.spec.exactTime, time.Now()
	events := c.spec.events
	if hear := ear.Of(c.source.broker); hear != nil {
		events = append(slices.Clip(events), func(e Event) { hear(e) })
	}
	r.events = listeners(events)
	r.health.init(c.spec.stallAfter)
	r.crew.init()
	return r
}

// open opens outlets and receivers, dead letters first: nothing is received before its way out exists.
func (r *running) open(ctx context.Context) error {
	c := r.c
	var err error
	if !c.spec.noDeadLetters {
		to := driver.Topic{Name: c.deadLetterName(), Role: driver.DeadLetter}
		r.dead, err = openOutlet(ctx, c.source.broker, driver.Target{Topic: to, Topology: c.source.topology})
		if err != nil {
			return err
		}
	}
	back := driver.Target{Topic: c.source.topic.driver(), Group: c.source.group, Topology: c.source.topology}
	if r.retries, err = openOutlet(ctx, c.source.broker, back); err != nil {
		return err
	}
	if err := r.openOutputs(ctx); err != nil {
		return err
	}
	if err := r.openHolds(ctx); err != nil {
		return err
	}
	receivers, err := c.openReceivers(ctx)
	for _, recv := range receivers {
		r.crew.add(newWorker(r, recv))
		r.volatile = r.volatile || recv.Info().Volatile
		r.told = toldBy(r.retries, recv)
	}
	if err != nil || r.loops() { // which is its own lane
		return err
	}
	for _, w := range r.crew.now() {
		if err := w.build(); err != nil {
			return err
		}
	}
	return nil
}

// loops reports whether a loop of [Pull] has it instead of a handler.
func (r *running) loops() bool { return r.c.newLane == nil && r.c.newBulk == nil }

// openHolds opens hold topics and their mover where the broker cannot delay.
func (r *running) openHolds(ctx context.Context) error {
	if r.retries.holder != nil {
		return nil
	}
	if err := r.retries.openHolds(ctx); err != nil {
		return err
	}
	queuer, err := Need[driver.Queuer](r.c.source.broker)
	if err != nil {
		return err
	}
	r.holds, err = openHoldConsumer(ctx, queuer, r)
	return err
}

// run receives until ctx ends or the broker is closed, then stops in order.
func (r *running) run(ctx context.Context) error {
	defer r.close()
	defer r.fleet.leave(r)
	if errors.Is(context.Cause(ctx), errNotStarted) {
		return nil
	}
	kept := context.WithoutCancel(ctx)
	hand, endHand := context.WithCancelCause(kept)
	defer endHand(ErrReturned)
	intake, stopIntake := context.WithCancel(kept)
	defer stopIntake()
	r.patience, r.hurry = context.WithCancel(intake)
	defer r.hurry()

	var beside sync.WaitGroup // everything but lanes; they may be abandoned, these never
	r.tellStarted()
	r.health.set(StateRunning)
	r.crew.begin(len(r.crew.now()))
	for _, w := range r.crew.now() {
		w.start(hand, intake, &beside)
	}
	tender := &tender{r: r, hand: hand, intake: intake, beside: &beside}
	beside.Go(tender.run)
	if r.c.spec.scale != nil {
		beside.Go(func() { r.scale(ctx) })
	}
	if r.holds != nil {
		beside.Go(func() { r.holds.run(intake) })
	}
	watching, stopWatching := context.WithCancel(kept)
	beside.Go(func() { r.watch(watching) })

	select {
	case <-ctx.Done():
	case <-r.failed:
	}
	r.alone = errors.Is(context.Cause(ctx), errStoppedAlone)
	err := r.stop(stopIntake, endHand)
	stopWatching()
	beside.Wait()
	return err
}

// note is what may be a mistake, empty where there is nothing to note.
func (r *running) note() string {
	notes := make([]string, 0, 2)
	if text := r.c.source.unnamed(); text != "" {
		notes = append(notes, text)
	}
	if r.fleet.hasNamesake(r) {
		notes = append(notes, namesakes(r.origin.Consumer))
	}
	return strings.Join(notes, " ")
}

// stop is the order of the end.
func (r *running) stop(stopIntake context.CancelFunc, endHand context.CancelCauseFunc) error {
	r.health.set(StateDraining)
	if r.volatile {
		r.hurry() // its batches are wanted now; others go back
	}
	deadline := time.NewTimer(r.c.spec.drain)
	defer deadline.Stop()
	over := make(chan struct{})
	settled := make(chan struct{})
	defer close(settled)
	go func() {
		defer close(over)
		select {
		case <-deadline.C:
		case <-settled:
		}
	}()
	paused := r.paused.Load() // and not waited for, though the pause may be over when that is asked again
	emptied := !r.volatile || r.alone || !r.isFailed() && r.fleet.empty(r, over)
	r.crew.freeze()
	stopIntake()
	for _, w := range r.crew.now() {
		w.stop()
	}
	handlers, messages := r.wait(over, endHand)
	// Settling has at least the grace, and at most what the drain left and the grace.
	last := time.AfterFunc(r.c.spec.grace, func() {
		<-over
		for _, w := range r.crew.now() {
			w.endSettling()
		}
	})
	defer last.Stop()
	for _, w := range r.crew.now() {
		w.finish()
	}
	left, topics, unknown := r.leaves(emptied && !paused && !r.paused.Load(), messages)
	undone := AbandonedError{Handlers: handlers, Left: left, Topics: topics, Unknown: unknown}
	switch {
	case undone.isZero() && r.isFailed():
		return r.failure
	case undone.isZero():
		return nil
	case r.isFailed():
		return errors.Join(r.failure, &undone)
	default:
		return &undone
	}
}

// wait waits for the lanes: for the drain time with a live context, for the grace after it ended. It returns the number
// of handlers that had not returned even then, and of their messages.
func (r *running) wait(over <-chan struct{}, endHand context.CancelCauseFunc) (handlers, messages int) {
	lanes := make(chan struct{})
	go func() {
		for _, w := range r.crew.now() {
			<-w.lanesDone
		}
		close(lanes)
	}()
	select {
	case <-lanes:
		return 0, 0
	case <-over:
	}
	r.draining.Store(true)
	endHand(ErrDraining)
	grace := time.NewTimer(r.c.spec.grace)
	defer grace.Stop()
	select {
	case <-lanes:
		return 0, 0
	case <-grace.C:
	}
	for _, w := range r.crew.now() {
		h, m := w.abandon()
		handlers, messages = handlers+h, messages+m
	}
	return handlers, messages
}

// fail ends the run with an error that receiving again cannot mend.
func (r *running) fail(err error) {
	r.failOnce.Do(func() {
		r.failure = err
		close(r.failed)
	})
}

func (r *running) isFailed() bool {
	select {
	case <-r.failed:
		return true
	default:
		return false
	}
}

// close ends everything that open opened. What is unsettled goes back to the broker.
func (r *running) close() {
	r.closing.Do(func() {
		ctx, stop := context.WithTimeout(context.Background(), settleTimeout)
		defer stop()
		for _, w := range r.crew.now() {
			r.closeWorker(w)
		}
		if r.holds != nil {
			r.holds.close()
		}
		for _, o := range []*outlet{r.retries, r.dead} {
			if o != nil {
				r.wasClosed(o.close(ctx))
			}
		}
		r.closeOutputs(ctx)
		r.clock.close()
	})
}
