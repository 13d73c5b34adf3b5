package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// mute is a broker that does not say what waits.
type mute struct{ driver.Queuer }

func TestScalingNeedsAnInspector(t *testing.T) {
	t.Parallel()
	c := wherry.Consume(wherry.Queue(mute{newMem(t)}, orders), done, wherry.WorkersBetween(1, 4))
	err := c.Run(t.Context())
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	assert.Equal(t, err.Error(), "wherry: consume orders: WorkersBetween scales by what waits at the broker, which "+
		"wherry_test.mute does not tell: it is no driver.Inspector; use Workers: unsupported operation")
}

func TestScaleMistakes(t *testing.T) {
	t.Parallel()
	between := func(opts ...wherry.ScaleOption) wherry.ConsumeOption { return wherry.WorkersBetween(1, 4, opts...) }
	by := func(b wherry.BacklogScaler) wherry.ConsumeOption { return between(wherry.ScaleBy(b)) }
	for want, opts := range map[string][]wherry.ConsumeOption{
		"0 and 4 are no range of at least one worker":               {wherry.WorkersBetween(0, 4)},
		"3 and 2 are no range of at least one worker":               {wherry.WorkersBetween(3, 2)},
		"both Workers and WorkersBetween":                           {between(), wherry.Workers(1)},
		"WorkersBetween is given twice":                             {between(), between()},
		"an option is nil":                                          {between(nil)},
		"the strategy is nil":                                       {between(wherry.ScaleBy(nil))},
		"it asks every 0s, want more than 0":                        {between(wherry.ScaleEvery(0))},
		"it changes after -1s, want 0 or more":                      {between(wherry.ScaleAfter(-time.Second))},
		"the cooldown is -1s, want 0 or more":                       {between(wherry.ScaleCooldown(-time.Second))},
		"it changes after 2h0m0s, want at most 1000 times the 5s":   {between(wherry.ScaleAfter(2 * time.Hour))},
		"the strategy's Up is -1":                                   {by(wherry.BacklogScaler{Up: -1})},
		"the strategy's Up is NaN":                                  {by(wherry.BacklogScaler{Up: math.NaN()})},
		"the strategy's Down is 1.1, want more than 0 and at most":  {by(wherry.BacklogScaler{Down: 1.1})},
		"the strategy's Down is -1":                                 {by(wherry.BacklogScaler{Down: -1})},
		"the strategy's Down is 1, want more than 0 and at most ha": {between(wherry.ScaleBy(wrapped{wherry.BacklogScaler{Up: 1, Down: 1}}))},
		"the strategy's Oldest is -1s, want 0 or more":              {by(wherry.BacklogScaler{Oldest: -time.Second})},
	} {
		err := wherry.Consume(wherry.Queue(newMem(t), orders), done, opts...).Run(t.Context())
		assert.True(t, err != nil && strings.Contains(err.Error(), want), fmt.Sprintf("got %v, want %q", err, want))
	}
	for _, err := range wherry.Pull(t.Context(), wherry.Queue(newMem(t), orders), between()) {
		assert.True(t, err != nil && strings.Contains(err.Error(), "no workers"), fmt.Sprint(err))
	}
}

// wrapped is a strategy around the default.
type wrapped struct{ wherry.BacklogScaler }

func TestScalingIsForBatchesToo(t *testing.T) {
	t.Parallel()
	c := wherry.ConsumeBatch(wherry.Queue(newMem(t), orders), func(context.Context, *wherry.MessageBatch[order]) wherry.Outcome {
		return wherry.Ack()
	}, wherry.WorkersBetween(3, 4))
	assert.Equal(t, c.Health().MinWorkers, 3)
	assert.Equal(t, c.Health().MaxWorkers, 4)
	r := start(t, c)
	for c.Health().Workers != 3 {
		select {
		case <-r.done:
			t.Fatal("the run ended")
		case <-time.After(time.Millisecond):
		}
	}
	r.mustEnd()
	assert.Equal(t, c.Health().Workers, 0)
}

func TestBacklogScaler(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		by   wherry.BacklogScaler
		s    wherry.ScaleSnapshot
		want int
	}{
		{"nothing waits", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 3, PerWorker: 10}, 2},
		{"twice the capacity", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 3, PerWorker: 10, Ready: 60}, 3},
		{"a little more", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 3, PerWorker: 10, Ready: 61}, 4},
		{"five workers' worth", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 3, PerWorker: 10, Ready: 100}, 5},
		{"far behind", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 3, PerWorker: 10, Ready: math.MaxInt64}, 6},
		{"half the capacity", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Ready: 20}, 4},
		{"a little less", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Ready: 19}, 3},
		{"own ratios", wherry.BacklogScaler{Up: 8, Down: 1}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Ready: 320}, 4},
		{"a small up", wherry.BacklogScaler{Up: 0.5}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Ready: 10}, 4},
		{"old", wherry.BacklogScaler{Oldest: 10}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Oldest: 11}, 5},
		{"half as old again", wherry.BacklogScaler{Oldest: 10}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Oldest: 15}, 6},
		{"very old", wherry.BacklogScaler{Oldest: 10}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Oldest: 1e9}, 8},
		{"not young", wherry.BacklogScaler{Oldest: 10}, wherry.ScaleSnapshot{Workers: 4, PerWorker: 10, Oldest: 6}, 4},
		{"no workers", wherry.BacklogScaler{}, wherry.ScaleSnapshot{Ready: 3}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.by.Scale(c.s), c.want)
		})
	}
}

func TestBroadcastHasOneWorker(t *testing.T) {
	t.Parallel()
	news := wherry.NewTopic("news", codec.JSON[order]{}, wherry.Fanout())
	for _, opt := range []wherry.ConsumeOption{wherry.Workers(2), wherry.WorkersBetween(1, 2)} {
		err := wherry.Consume(wherry.Broadcast(newMem(t), news), done, opt).Run(t.Context())
		assert.True(t, err != nil && strings.Contains(err.Error(), "a broadcast has one worker"), fmt.Sprint(err))
	}
}
