package matrix

import (
	"slices"
	"time"
)

// The subjects whose rows stand beside each other.
const (
	Wherry = "wherry"
	// Channel is a Go channel of values of a delivery's size. The producer copies a body of its own into each, and the
	// receiver copies it out.
	Channel = "go-channel"
	// BareChannel is a Go channel of slice headers: no copy, no id, no acknowledgement.
	BareChannel = "go-channel-bare"
	// Harness is an empty loop with nothing but what the benchmark adds to every message.
	Harness = "harness"

	// WithTimes is the variant of the harness that notes when each message came.
	WithTimes = "with times"
	// PoisonedKey is the variant of a sequence of which one key fails for ever.
	PoisonedKey = "poisoned-key"
)

// The flows.
const (
	Publish      = "publish"       // one message per call, no consumer
	PublishBatch = "publish-batch" // many messages per call, no consumer
	Parallel     = "parallel"      // handlers of single messages side by side
	Batch        = "batch"         // handlers of batches
	Group        = "group"         // members of a group of a fan-out
	DeadLetter   = "dead-letter"   // the dead letters of a topic
	Sequence     = "sequence"      // in order by key
	Broadcast    = "broadcast"     // every reader gets everything
	Transaction  = "transaction"   // handlers of single messages that are settled together, in transactions
	Pipeline     = "pipeline"      // steps of a flow
	Notes        = "ledger"        // of the harness
)

// The handlers.
const (
	Zero    = "zero"    // does nothing
	Wait    = "wait"    // sleeps 1 to 5 ms
	Slow    = "slow"    // sleeps 50 to 300 ms
	Compute = "compute" // spins for some microseconds
	Limited = "limited" // waits for one of 4 slots, and has it for 2 ms
	Sleep   = "sleep"   // sleeps 10 ms
	Call    = "call"    // spins for CallTime in each call, be it of a message or of a batch
)

// The codecs.
const (
	JSON      = "json"      // encoding/json, the default
	FastJSON  = "fastjson"  // the fastest that ships
	BytesView = "bytesview" // bodies as they are, without a copy
)

// The values that are measured.
const (
	// Processors is the GOMAXPROCS of every cell that does not say otherwise.
	Processors = 2
	// Window is how long a timed run is meant to last, and Shortest what is too short to be a result.
	Window   = 1200 * time.Millisecond
	Shortest = time.Second
	// Slice is how long one of the windows of a drain is meant to last whose handlers do nothing: several add up to a run, so
	// that the corpus is small.
	Slice = 200 * time.Millisecond
	// Bound is the capacity of queues and channels in live rows and under offered load.
	Bound = 10_000
	// Keys is how many keys the messages of a sequence have, in turn.
	Keys = 1000
	// CallTime is what a call of the handler [Call] takes.
	CallTime = 50 * time.Microsecond
	// BatchSize and BatchAge are the bounds of batches: those that a consumer has if nobody says otherwise.
	BatchSize = 500
	BatchAge  = 250 * time.Millisecond

	// LeverPayload is that of lever rows, and of rows whose handlers do something.
	LeverPayload = middle

	small  = 64
	middle = 1 << 10
	large  = 64 << 10

	drainRounds = 3
	liveRounds  = 3
	fewRounds   = 2
	// offeredRounds is odd, so that one run is the median.
	offeredRounds = 3
	publishBatch  = 100
	rung          = 10 * time.Second
	addedTrip     = time.Millisecond
	// ofKey is how many messages a poisoned key has in a corpus, fewer than may wait for a key in memory by default: with more the
	// consumer receives nothing for any key, as it promises.
	ofKey = 200
	// sequenced is the handlers at once of the sequences with a poisoned key.
	sequenced = 4
)

// What processes, fills and probes take besides their windows.
const (
	drainProbe      = 250 * time.Millisecond
	drainOverhead   = 500 * time.Millisecond
	liveProbe       = 150 * time.Millisecond
	liveOverhead    = 150 * time.Millisecond
	offeredOverhead = time.Second
)

var (
	payloads   = []int{small, middle, large}
	consumers  = []int{1, 2, 4, 8}
	sides      = []int{1, 2, 4, 8, 32} // consumers of live rows, by concurrency and by workers
	processors = []int{Processors, 1}
	others     = []string{Wait, Slow, Compute, Limited}
	rates      = []int{500, 5_000, 25_000, 100_000}
	prefetches = []int{1, 8, 32, 128, 512}

	// drained are the flows of the drains.
	drained = []string{Publish, PublishBatch, Parallel, Batch, Sequence, Group, DeadLetter, Broadcast, Pipeline}
	// compared are those of them that are measured in turn with the first, which they are compared with.
	compared = []string{Parallel, Batch, Sequence}
	// second are the flows that the second codec is measured with, by payload.
	second = map[string][]int{Parallel: payloads, Batch: {small}}
	// paired are the flows whose ladders of offered load are compared, and steps the consumers that they have.
	paired = []string{Parallel, Batch}
	steps  = []int{1, 4}
	// called are the codecs that batches and single messages are compared with where a call takes its time.
	called = []string{BytesView, JSON}
	// shapes are workers times concurrency.
	shapes = [][2]int{{1, 1}, {1, 8}, {8, 1}, {4, 8}}

	// missing are the flows that are not there yet, with the ability that they need.
	missing = map[string]string{
		Pipeline: "flows: a pipeline of steps",
	}
)

// rounds is how often a drain is measured: less often where the handlers set the pace, and flows that are compared with nothing.
func rounds(flow, handler string) int {
	if !Sliced(handler) {
		return fewRounds
	}
	if slices.Contains(compared, flow) {
		return drainRounds
	}
	return fewRounds
}

// Sliced reports whether the drains of a handler are made of slices: those whose pace is not set by a handler that takes its time
// for each message.
func Sliced(handler string) bool { return handler == Zero || handler == Call }

// offers is how often a rung of offered load is measured: several times where the charts and what is to be reached speak of it,
// which of batches is the rate at which they do not fill.
func offers(flow string, consumers, rate int) int {
	if consumers == 1 && (flow == Parallel || rate < Fills(consumers)) {
		return offeredRounds
	}
	return 1
}

// Fills is the rate per second from which batches of so many consumers are full before they have their age.
func Fills(consumers int) int { return consumers * BatchSize * int(time.Second) / int(BatchAge) }

// published reports whether a flow is publishing, to be looked at afterwards by one handler.
func published(flow string) bool { return flow == Publish || flow == PublishBatch }
