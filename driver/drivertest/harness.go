package drivertest

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A Harness is a backend under test. Only Open or Setup is needed; every other zero value is a default or, for the
// hooks, something that the harness cannot do.
//
// The hooks are Inject, Cut, CutBeforeWrite, CutAfterWrite, Restart, Wipe, Revoke and RevokeTx. A case that needs a hook which is
// nil fails, unless Lacks says why.
type Harness struct {
	// Open returns a connection of its own to the broker under test; the suite closes it. All calls with one tb reach
	// the same broker. It may be called concurrently.
	Open func(tb testing.TB) driver.Broker
	// Setup, when not nil, is called at the start of every case, inside its bubble when Virtual is set, with a copy of
	// the harness that belongs to the case. A broker that lives in the process is started here, and the functions that
	// reach it are filled in.
	Setup func(tb testing.TB, h *Harness)
	// Virtual runs every case in a bubble of [testing/synctest], where waiting takes no time. It is for brokers in the
	// process that do nothing outside it.
	Virtual bool
	// Topic returns a topic name that was never used. Nil makes "drivertest-", random letters and a number.
	Topic func(tb testing.TB) string

	// Wait is how long to wait at most for what must come; 0 is 10 s.
	Wait time.Duration
	// Quiet is how long to watch for what must not come; 0 is 500 ms, and 5 s when Virtual is set.
	Quiet time.Duration
	// Messages is the number of messages of the cases that count them; 0 is 1,000.
	Messages int
	// Backlog is the number of records that a broadcast reader which does not receive is left behind by; 0 is Messages. Where
	// the broker or its client keeps a number of them for a reader, give more than that.
	Backlog int
	// MaxRecord is the largest record, in bytes, that the suite sends where the sender's limit is larger or there is
	// none; 0 is 8 MiB.
	MaxRecord int

	// Inject puts a record on the topic as a foreign program would, by the broker's own client and without this
	// project's data; only key, body, headers and content type of r are used, as far as the broker has a place for
	// them. Headers under the reserved prefix are written as they are.
	Inject func(tb testing.TB, t driver.Topic, r driver.Record)
	// Cut cuts the connections of b, and keeps them cut until mend is called.
	Cut func(tb testing.TB, b driver.Broker) (mend func())
	// CutBeforeWrite has a connection of b cut when the next write for the topic is on its way, a send or a settlement, so
	// that it is never at the broker; CutAfterWrite does when it is there, and before b was answered. All of one call fare
	// alike. A connection can be made again at once. Both return at once, and disarm ends what did not happen. A proxy between b
	// and the broker does it: it cuts instead of passing on what b sends, or instead of passing on the answer.
	CutBeforeWrite func(tb testing.TB, b driver.Broker, t driver.Topic) (disarm func())
	CutAfterWrite  func(tb testing.TB, b driver.Broker, t driver.Topic) (disarm func())
	// Restart stops the broker and starts it again with its data, and returns when it answers. No other case runs
	// meanwhile.
	Restart func(tb testing.TB)
	// Wipe takes from the broker what it holds and what was declared there, as a start with empty data does, and
	// returns when it answers. No other case runs meanwhile.
	Wipe func(tb testing.TB)
	// Revoke ends the tenures that r holds as the broker would of its own accord, by a rebalance or an expired lease,
	// and returns when r has been told or will be.
	Revoke func(tb testing.TB, r driver.Receiver)
	// RevokeTx is Revoke for a receiver of transactions.
	RevokeTx func(tb testing.TB, r driver.TxReceiver)

	// Lacks gives, for the name of a hook or of a case, the reason why it is missing here. What it names is not run;
	// the reason is logged, and counted in the summary. An entry for something that does not exist, or that the
	// harness has after all, is an error. [LacksInProcess] is for a broker in process without switches for faults.
	Lacks map[string]string
}

// The hooks' names, as [Case.Hooks] and [Harness.Lacks] use them.
const (
	HookInject         = "Inject"
	HookCut            = "Cut"
	HookCutBeforeWrite = "CutBeforeWrite"
	HookCutAfterWrite  = "CutAfterWrite"
	HookRestart        = "Restart"
	HookWipe           = "Wipe"
	HookRevoke         = "Revoke"
	HookRevokeTx       = "RevokeTx"
)

func (h *Harness) hooks() map[string]bool {
	return map[string]bool{
		HookInject:         h.Inject != nil,
		HookCut:            h.Cut != nil,
		HookCutBeforeWrite: h.CutBeforeWrite != nil,
		HookCutAfterWrite:  h.CutAfterWrite != nil,
		HookRestart:        h.Restart != nil,
		HookWipe:           h.Wipe != nil,
		HookRevoke:         h.Revoke != nil,
		HookRevokeTx:       h.RevokeTx != nil,
	}
}

// withDefaults fills in what is zero.
func (h Harness) withDefaults() Harness {
	h.Wait = cmp.Or(h.Wait, 10*time.Second)
	h.Messages = cmp.Or(h.Messages, 1000)
	h.Backlog = cmp.Or(h.Backlog, h.Messages)
	h.MaxRecord = cmp.Or(h.MaxRecord, 8<<20)
	if h.Quiet == 0 {
		h.Quiet = 500 * time.Millisecond
		if h.Virtual {
			h.Quiet = 5 * time.Second
		}
	}
	if h.Topic == nil {
		prefix := "drivertest-" + strings.ToLower(rand.Text()[:8])
		var n atomic.Uint64
		h.Topic = func(testing.TB) string { return fmt.Sprintf("%s-%d", prefix, n.Add(1)) }
	}
	return h
}

// begin returns the harness of one case.
func (h Harness) begin(tb testing.TB) Harness {
	if h.Setup != nil {
		h.Setup(tb, &h)
	}
	if h.Open == nil {
		tb.Fatal("drivertest: the harness has no Open")
	}
	return h
}

// slack is how late something may be that should happen at once.
func (h *Harness) slack() time.Duration {
	if h.Virtual {
		return 50 * time.Millisecond
	}
	return h.Wait / 10
}

// misfits returns what is wrong with Lacks, given the cases and the hooks that the harness has.
func (h *Harness) misfits(cases []Case, hooks map[string]bool) []string {
	var wrong []string
	for name, reason := range h.Lacks {
		has, isHook := hooks[name]
		isCase := slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name })
		switch {
		case !isHook && !isCase:
			wrong = append(wrong, fmt.Sprintf("Lacks names %q, which is neither a hook nor a case", name))
		case has:
			wrong = append(wrong, fmt.Sprintf("Lacks names %q, which the harness has", name))
		case reason == "":
			wrong = append(wrong, fmt.Sprintf("Lacks gives no reason for %q", name))
		}
	}
	slices.Sort(wrong)
	return wrong
}
