package matrix

import (
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

// Matrix returns the specs of the matrix of a backend, in the order in which they are measured.
func Matrix(b Backend) []Spec {
	specs := harness()
	if b.InProcess {
		specs = append(specs, live()...)
	}
	specs = append(specs, drains(b)...)
	return append(specs, ladders()...)
}

// Levers returns the specs of the lever rows of a backend.
func Levers(b Backend) []Spec {
	var specs []Spec
	for _, handler := range []string{Zero, Sleep} {
		for _, trip := range []time.Duration{0, addedTrip} {
			turn := fmt.Sprintf("prefetch %s %v", handler, trip)
			for _, prefetch := range prefetches {
				s := b.drain(Parallel, middle, 4, JSON)
				s.Workers, s.Prefetch, s.Handler, s.RoundTrip, s.Turn = 4, prefetch, handler, trip, turn
				s.Rounds = fewRounds
				if trip > 0 {
					s.Variant = fmt.Sprintf("round-trip=+%v", trip)
					s.remark(remarkTrip)
				}
				specs = append(specs, s)
			}
		}
	}
	for _, shape := range shapes {
		s := b.drain(Parallel, middle, shape[0]*shape[1], JSON)
		s.Workers, s.Turn = shape[0], "workers and concurrency"
		specs = append(specs, s)
	}
	specs = append(specs, calls(b)...)
	specs = append(specs, poisoned(b)...)
	return append(specs, transactions(b)...)
}

// transactions are the same messages handled one by one, in batches, and one by one in transactions of as many as a batch has.
// Nothing is decoded or published, so that what the transaction costs is all that differs.
func transactions(b Backend) []Spec {
	var specs []Spec
	for _, flow := range []string{Parallel, Batch, Transaction} {
		s := b.drain(flow, small, 1, BytesView)
		s.Turn, s.Rounds = "transactions", drainRounds
		specs = append(specs, s)
	}
	return specs
}

// calls are single messages and batches of one handler at a time, each of whose calls takes a while.
func calls(b Backend) []Spec {
	var specs []Spec
	for _, codec := range called {
		for _, flow := range []string{Parallel, Batch} {
			s := b.drain(flow, small, 1, codec)
			s.Handler, s.Turn, s.Rounds = Call, fmt.Sprintf("a call of %v, %s", CallTime, codec), drainRounds
			specs = append(specs, s)
		}
	}
	return specs
}

// poisoned are sequences without a fault and with one key that fails for ever, beside messages in any order. Nothing is decoded,
// so that no decoder hides what order costs.
func poisoned(b Backend) []Spec {
	var specs []Spec
	for _, flow := range []string{Parallel, Sequence} {
		s := b.drain(flow, small, sequenced, BytesView)
		s.Turn, s.Most = "poisoned key", ofKey*Keys
		specs = append(specs, s)
	}
	s := specs[len(specs)-1]
	s.Variant, s.Poisoned = PoisonedKey, true
	s.remark(remarkPoisoned)
	return append(specs, s)
}

// harness is what the benchmark itself adds to a message: a note in the ledger, and one with a time.
func harness() []Spec {
	plain := Spec{
		Cell: document.Cell{
			Subject: Harness, Flow: Notes, Payload: small, Consumers: 1, Handler: Zero, Codec: BytesView, Procs: Processors,
		},
		Method: document.Live, Turn: "harness", Rounds: drainRounds, Ordered: true,
	}
	plain.remark(remarkHarness)
	timed := plain
	timed.Variant = WithTimes
	return []Spec{plain, timed}
}

// live are publishing and consuming at once, beside Go channels with as many receivers.
func live() []Spec {
	var specs []Spec
	for _, procs := range processors {
		for _, n := range sides {
			s := Spec{
				Cell: document.Cell{
					Subject: Wherry, Flow: Parallel, Payload: small, Consumers: n, Handler: Zero, Codec: BytesView, Procs: procs,
				},
				Method: document.Live, Turn: fmt.Sprintf("live on %d", procs), Rounds: liveRounds, Bound: Bound, Ordered: n == 1,
			}
			workers, all, channel, bare := s, s, s, s
			workers.Workers = n
			all.Variant, all.BatchSize = fmt.Sprintf("publish-all=%d", publishBatch), publishBatch
			channel.Subject = Channel
			channel.remark(remarkChannel)
			bare.Subject = BareChannel
			bare.remark(remarkBare)
			specs = append(specs, s, channel, workers)
			if procs > 1 { // What many in a call gain is no question of processors.
				specs = append(specs, all)
			}
			specs = append(specs, bare)
		}
	}
	return specs
}

func drains(b Backend) []Spec {
	var specs []Spec
	for _, payload := range payloads {
		for _, flow := range drained {
			codecs := []string{JSON}
			if slices.Contains(second[flow], payload) {
				codecs = append(codecs, FastJSON)
			}
			for _, n := range consumers {
				for _, codec := range codecs {
					specs = append(specs, b.drain(flow, payload, n, codec))
				}
			}
		}
	}
	for _, handler := range others {
		for _, n := range consumers {
			s := b.drain(Parallel, middle, n, JSON)
			s.Handler, s.Turn, s.Rounds = handler, "handler "+handler, rounds(Parallel, handler)
			specs = append(specs, s)
		}
	}
	return specs
}

// drain is one drain with the zero handler.
func (b *Backend) drain(flow string, payload, n int, codec string) Spec {
	s := Spec{
		Cell: document.Cell{
			Subject: Wherry, Flow: flow, Payload: payload, Consumers: n, Handler: Zero, Codec: codec, Procs: Processors,
		},
		Method: document.Drain, Turn: turn(flow, payload), Rounds: rounds(flow, Zero),
		MaxBodies: b.MaxBodies, Notes: b.Notes, Missing: missing[flow],
		// The in-process broker keeps the order of each publisher, for one handler.
		Ordered: b.InProcess && (n == 1 || published(flow)) && flow != DeadLetter,
	}
	switch flow {
	case Batch:
		s.BatchSize, s.BatchAge = BatchSize, BatchAge
		s.remark(remarkLast)
	case Transaction:
		s.BatchSize = BatchSize
		s.remark(remarkTransaction)
	case Publish:
		s.remark(remarkPublishers)
	case PublishBatch:
		s.BatchSize = publishBatch
		s.remark(remarkPublishers)
	case DeadLetter:
		s.remark(remarkDead)
	case Sequence:
		s.Keys, s.Ordered = Keys, true
	case Broadcast:
		s.Ordered = b.InProcess
		s.MaxBodies /= int64(n) // Each reader has all of them.
		s.remark(remarkBroadcast)
	}
	return s
}

// turn names what drains are measured in turn with.
func turn(flow string, payload int) string {
	if slices.Contains(compared, flow) {
		flow = "compared"
	}
	return fmt.Sprintf("%s %d", flow, payload)
}

// ladders are the rungs of offered load, ascending.
func ladders() []Spec {
	var specs []Spec
	for _, n := range steps {
		for _, flow := range paired {
			for _, rate := range rates {
				s := Spec{
					Cell: document.Cell{
						Subject: Wherry, Flow: flow, Payload: small, Consumers: n, Handler: Zero, Codec: JSON, Rate: rate,
						Procs: Processors,
					},
					Method: document.Offered, Turn: fmt.Sprintf("offered %s %d", flow, n), Rounds: offers(flow, n, rate), Length: rung,
					Bound: Bound, Ordered: n == 1,
				}
				if flow == Batch {
					s.BatchSize, s.BatchAge = BatchSize, BatchAge
				}
				specs = append(specs, s)
			}
		}
	}
	return specs
}

// Ratios are the comparisons of specs with the Go channels beside them, of flows, of transactions, of a poisoned key with none, and of codecs,
// without their values, which [document.Part.Derive] fills in.
func Ratios(specs []Spec) []document.Ratio {
	has := make(map[document.Cell]bool, len(specs))
	for i := range specs {
		has[specs[i].Cell] = specs[i].Missing == ""
	}
	var ratios []document.Ratio
	add := func(of, to document.Cell) {
		if has[of] && has[to] {
			ratios = append(ratios, document.Ratio{Of: of, To: to})
		}
	}
	for i := range specs {
		of := specs[i].Cell
		if of.Subject != Wherry {
			continue
		}
		to := of
		to.Variant, to.Workers = "", 0
		for _, subject := range []string{Channel, BareChannel} {
			to.Subject = subject
			add(of, to)
		}
		if of.Rate == 0 && of.Flow != Parallel && slices.Contains(compared, of.Flow) {
			to = of
			to.Flow = Parallel
			add(of, to)
		}
		if of.Flow == Transaction {
			to = of
			for _, flow := range []string{Batch, Parallel} {
				to.Flow = flow
				add(of, to)
			}
		}
		if of.Variant == PoisonedKey {
			to = of
			to.Variant = ""
			add(of, to)
		}
		if of.Codec == FastJSON {
			to = of
			to.Codec = JSON
			add(of, to)
		}
	}
	return ratios
}
