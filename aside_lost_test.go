package wherry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// What a broker takes back while it is on its way to the dead letters follows its key there when it comes again: that others of
// the key failed before is not forgotten with it.
func TestSequenceKeepsAsideWhatIsLost(t *testing.T) {
	t.Parallel()
	for _, policy := range []wherry.FailurePolicy{wherry.FailAll, wherry.Park} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.result = func(step, int) wherry.Outcome { return wherry.Reject(errStep) }
			b := newMem(t)
			run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(policy)), s.handle))
			publish(t, b, steps, step{"a", 0})
			time.Sleep(time.Second) // it is among the dead letters

			b.Faults().WithholdConfirms("steps.dlq")
			publish(t, b, steps, step{"b", 0}) // is sent, and keeps what comes after it from being sent
			synctest.Wait()
			publish(t, b, steps, stepsOf(3, "a")[1:]...)
			synctest.Wait()
			b.Faults().Revoke("steps", 0)
			synctest.Wait()
			b.Faults().ReleaseConfirms("steps.dlq")
			run.mustEnd()
			assert.Equal(t, s.of(s.calls, "a"), "0")
		})
	}
}

// A message that is lost while it is on its way as the first of its key to fail sets nothing aside: whoever has it decides anew.
func TestSequenceSetsNothingAsideForWhatIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s := newStage(t)
		s.result = func(v step, _ int) wherry.Outcome {
			if v.Key == "b" || broken {
				return wherry.Reject(errStep)
			}
			return wherry.Ack()
		}
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.FailAll)), s.handle))
		b.Faults().WithholdConfirms("steps.dlq")
		publish(t, b, steps, step{"b", 0})
		synctest.Wait()
		publish(t, b, steps, stepsOf(2, "a")...)
		synctest.Wait()
		broken = false
		b.Faults().Revoke("steps", 0)
		synctest.Wait()
		b.Faults().ReleaseConfirms("steps.dlq")
		run.mustEnd()
		assert.Equal(t, s.of(s.done, "a"), "0 1")
	})
}
