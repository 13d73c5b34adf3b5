package wherry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// State is what a consumer is doing.
type State string

const (
	// StateIdle is a consumer that was not run yet.
	StateIdle State = "idle"
	// StateStarting is one that is opening what it needs.
	StateStarting State = "starting"
	// StateRunning is one that receives.
	StateRunning State = "running"
	// StateAway is one whose broker does not answer.
	StateAway State = "broker away"
	// StatePaused is one that was paused.
	StatePaused State = "paused"
	// StateStalled is one that makes no progress while work waits.
	StateStalled State = "stalled"
	// StateDraining is one that finishes what it has in hand.
	StateDraining State = "draining"
	// StateStopped is one whose Run returned.
	StateStopped State = "stopped"
)

// Health is a snapshot of a consumer. It holds no payload, no stack and no error text of a handler, and but for Detail
// nothing that should not be shown to strangers.
type Health struct {
	Consumer string
	Topic    string
	Group    string // empty in a queue
	State    State
	// Cause says in words why the state is not running, or what is wrong while it is ("cannot publish to orders.dlq:
	// 3 kept"). It holds topics, message ids, and what Pause was given.
	Cause string
	// Detail is the text of the error behind Cause, where there is one. It is the broker's and may name hosts.
	Detail string
	// Ready is whether it is fit for traffic: running, paused on purpose included, and not stalled or away.
	Ready bool
	// InFlight is the number of messages that its workers hold: buffered, with handlers, or not yet settled.
	InFlight int
	// Handled is the number of messages whose handlers returned in this run, whatever the outcome.
	Handled uint64
	// Oldest is how long ago the oldest message that waits at the broker was first published, 0 where nothing waits or
	// the broker does not tell. It is as old as the last look of the watchdog.
	Oldest time.Duration
	// Backlog is the number of messages that are ready at the broker, -1 where it does not tell; as old as Oldest.
	Backlog int64
	// Rate is how many messages a second its handlers returned from in this run while work waited, over the last half
	// minute of such time, or the last thirty looks of the watchdog where that is longer. 0 is that it is not known, or
	// that none returned.
	Rate float64
	// Workers is how many workers run: without those that stop, and those that ended and are not opened again yet.
	// MinWorkers and MaxWorkers are the bounds of [WorkersBetween], or both the number of [Workers].
	Workers, MinWorkers, MaxWorkers int
	// Scaled is the last change of their number in this run; the zero value where there was none.
	Scaled ScaleDecision
	// Aside is how many keys are set aside in this run, under [FailAll] and [Park].
	Aside int
	// Since is when the state began.
	Since time.Time
}

// healthState is what a running consumer knows of itself.
type healthState struct {
	mu         sync.Mutex // guards the fields below
	state      State
	since      time.Time
	stallAfter time.Duration

	workersAway int       // for how many of them the broker does not answer
	awaySince   time.Time // zero: it answers all
	awayErr     error

	handled  uint64    // at the last look
	progress time.Time // when it last rose, or nothing waited
	stalled  time.Time // zero: not stalled
	cause    string
	detail   string
	oldest   time.Duration
	backlog  int64

	asked      time.Time // when the broker was last asked what waits
	depth      driver.Depth
	depthKnown bool
	answered   time.Time // when depth was
	unanswered bool      // the last question failed, on a broker that can tell
	may        bool      // some of what is ready could come to a receiver
	mayKnown   bool      // somebody asked them since depth was

	looked time.Time // the last look
	worked bool      // work waited at the last look
	pace   workRate
	change ScaleDecision
}

func (h *healthState) init(stallAfter time.Duration) {
	h.state, h.since, h.stallAfter, h.backlog = StateStarting, time.Now(), stallAfter, -1
	h.progress = h.since
	h.looked = h.since
}

func (h *healthState) set(s State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state, h.since = s, time.Now()
}

// away notes that the broker does not answer, one more worker or the same again, and reports whether it answered all before.
func (h *healthState) away(err error, more bool) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awayErr = err
	if !more {
		return false
	}
	h.workersAway++
	if h.workersAway > 1 {
		return false
	}
	h.awaySince = time.Now()
	return true
}

// back notes that the broker answers one more worker. It returns how long it was away when that was the last.
func (h *healthState) back() (after time.Duration, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.workersAway--
	if h.workersAway > 0 {
		return 0, false
	}
	after = time.Since(h.awaySince)
	h.awaySince, h.awayErr = time.Time{}, nil
	h.progress = time.Now()
	return after, true
}

// Health returns a snapshot of the consumer. It does not ask the broker.
func (c *Consumer) Health() Health {
	if c == nil {
		return Health{State: StateIdle, Backlog: -1}
	}
	c.mu.Lock()
	r, last := c.running, c.last
	if r == nil && last.Consumer == "" {
		last = c.idleLocked()
	}
	c.mu.Unlock()
	if r == nil {
		return last
	}
	return r.health.snapshot(r)
}

// idleLocked is the health of a consumer that has not run.
func (c *Consumer) idleLocked() Health {
	h := Health{Consumer: c.nameLocked(), State: StateIdle, Backlog: -1}
	if c.source == nil {
		return h // the zero Consumer
	}
	spec := c.sharingLocked()
	h.MinWorkers, h.MaxWorkers = spec.bounds()
	h.Topic, h.Group = c.source.topic.name, c.source.group
	return h
}

func (h *healthState) snapshot(r *running) Health {
	out := Health{Consumer: r.origin.Consumer, Topic: r.origin.Topic, Group: r.origin.Group}
	workers, past := r.crew.all()
	out.Handled = past
	for _, w := range workers {
		w.mu.Lock()
		w.recallAllLocked()
		out.InFlight += w.unsettled
		out.Handled += w.handled
		w.mu.Unlock()
	}
	out.MinWorkers, out.MaxWorkers = r.c.spec.bounds()
	out.Aside = int(r.aside.n.Load())
	blocked, refusal := r.blockedMoves()
	if blocked == "" {
		blocked = r.crowded()
	}
	missing, lost, since := r.missingWorkers()
	pauses := r.c.pauseReasons()
	out.Workers, _, _ = r.crew.state()
	h.mu.Lock()
	defer h.mu.Unlock()
	out.State, out.Since, out.Oldest, out.Backlog = h.state, h.since, h.oldest, h.backlog
	out.Rate, out.Scaled = h.pace.perSecond(), h.change
	out.Cause, out.Detail = sentences(blocked, missing, r.deafened()), sentences(refusal, lost)
	if h.state == StateRunning {
		switch {
		case missing != "" && out.Workers == 0:
			out.State, out.Since = StateAway, since
			out.Cause, out.Detail = missing, lost
		case !h.awaySince.IsZero():
			out.State, out.Since = StateAway, h.awaySince
			out.Cause, out.Detail = "the broker does not answer", errorText(h.awayErr)
		case !h.stalled.IsZero():
			out.State, out.Since = StateStalled, h.stalled
			out.Cause, out.Detail = h.cause, h.detail
		case len(pauses) > 0:
			out.State, out.Cause, out.Detail = StatePaused, strings.Join(pauses, "; "), ""
		}
	}
	out.Ready = out.State == StateRunning || out.State == StatePaused
	return out
}

// blockedMoves says which destinations refuse copies, which holds give none back, and why; empty when all is well.
func (r *running) blockedMoves() (cause, detail string) {
	causes, details := r.holds.blocked()
	for _, w := range r.crew.now() {
		if cause, why := w.tx.stuck(); cause != "" {
			causes, details = append(causes, cause), append(details, why)
		}
		for _, m := range w.moversNow() {
			if n, err := m.blocked(); err != nil {
				causes = append(causes, fmt.Sprintf("cannot publish to %s: %d kept", m.out.target.Topic.Name, n))
				details = append(details, errorText(err))
			}
		}
	}
	return strings.Join(causes, "; "), strings.Join(details, "; ")
}

// missingWorkers says which workers should run and do not, and why, empty when none is missing.
func (r *running) missingWorkers() (cause, detail string, since time.Time) {
	c := &r.crew
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return "", "", time.Time{}
	}
	missing := max(c.want-c.activeLocked(), 0)
	return fmt.Sprintf("%d of %s ended or cannot be opened", missing, workersText(c.want)), errorText(c.err), c.since
}

// sentences is the texts that are not empty, as one.
func sentences(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// rate is how many messages a second are handled while work waits.
func (h *healthState) rate() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pace.perSecond()
}

// scaled notes a decision.
func (h *healthState) scaled(d ScaleDecision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change = d
}
