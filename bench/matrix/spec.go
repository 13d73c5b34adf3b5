// Package matrix is what the benchmark measures: every cell, in one place, as data. The tables are in axes.go; nothing
// else in the repository names a payload, a number of consumers or a rate that is measured.
package matrix

import (
	"fmt"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

// A Spec is a cell and how it is measured. It travels to the process that measures it as JSON.
type Spec struct {
	document.Cell
	Method document.Method `json:"method"`
	// Turn names the specs that are measured in turn, round by round, so that they can be compared.
	Turn   string `json:"turn"`
	Rounds int    `json:"rounds"`

	BatchSize int           `json:"batch_size,omitempty"` // of a batch flow, or of one call that publishes many
	BatchAge  time.Duration `json:"batch_age,omitempty"`
	// Bound is the most messages that wait in an in-process queue. 0 is as many as the corpus has.
	Bound     int           `json:"bound,omitempty"`
	RoundTrip time.Duration `json:"round_trip,omitempty"` // added to each receive and each settlement
	Length    time.Duration `json:"length,omitempty"`     // of a rung
	// Ordered tells that the messages are promised to come in the order they were published in.
	Ordered bool `json:"ordered,omitempty"`
	// Keys is the number of keys that the messages have in turn, 0 without keys. They are ordered by key.
	Keys int `json:"keys,omitempty"`
	// Poisoned tells that every message of the last key fails, until the window is over. The rate is that of the other keys.
	Poisoned bool `json:"poisoned,omitempty"`
	// Most is the most messages that the corpus may have, 0 for no such bound.
	Most int `json:"most,omitempty"`
	// MaxBodies is the most bytes of bodies that the corpus may have.
	MaxBodies int64    `json:"max_bodies,omitempty"`
	Notes     []string `json:"notes,omitempty"`
	// Missing is the ability that is not there. A spec with one is not measured.
	Missing string `json:"missing,omitempty"`
}

// Name is a short text that tells the spec apart from the others of its part.
func (s *Spec) Name() string {
	words := []string{s.Flow}
	if s.Subject != Wherry {
		words[0] = s.Subject + " " + s.Flow
	}
	if s.Variant != "" {
		words = append(words, s.Variant)
	}
	words = append(words, fmt.Sprintf("%d B", s.Payload), fmt.Sprintf("consumers %d", s.Consumers))
	if s.Workers > 0 {
		words = append(words, fmt.Sprintf("workers %d", s.Workers))
	}
	if s.Prefetch > 0 {
		words = append(words, fmt.Sprintf("prefetch %d", s.Prefetch))
	}
	if s.Handler != Zero {
		words = append(words, s.Handler)
	}
	words = append(words, s.Codec)
	if s.Rate > 0 {
		words = append(words, fmt.Sprintf("%d/s", s.Rate))
	}
	if s.Procs != Processors {
		words = append(words, fmt.Sprintf("procs %d", s.Procs))
	}
	return strings.Join(words, ", ")
}

// Settings are what the row of the spec says of the subject's settings.
func (s *Spec) Settings() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if s.Bound > 0 {
		say("bound=%d", s.Bound)
	}
	if s.BatchSize > 0 {
		say("batch-size=%d", s.BatchSize)
	}
	if s.BatchAge > 0 {
		say("batch-age=%v", s.BatchAge)
	}
	if s.Keys > 0 {
		say("keys=%d", s.Keys)
	}
	if s.Poisoned {
		say("poisoned-keys=1")
		say("on-failure=block")
	}
	if s.RoundTrip > 0 {
		say("round-trip=+%v", s.RoundTrip)
	}
	return all
}

// Expected is about how long all rounds of the spec take, with the start of their processes.
func (s *Spec) Expected() time.Duration {
	if s.Missing != "" {
		return 0
	}
	switch {
	case s.Method == document.Offered:
		return time.Duration(s.Rounds) * (s.Length + offeredOverhead)
	case s.Flow == DeadLetter:
		return drainProbe + time.Duration(s.Rounds)*(Window+2*drainOverhead)
	case s.Method == document.Drain:
		return drainProbe + time.Duration(s.Rounds)*(Window+drainOverhead)
	default:
		return liveProbe + time.Duration(s.Rounds)*(Window+liveOverhead)
	}
}

// Expected is about how long specs take.
func Expected(specs []Spec) time.Duration {
	var sum time.Duration
	for i := range specs {
		sum += specs[i].Expected()
	}
	return sum
}
