package wherry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// asked is a broker that takes nothing back in the one manner, and notes in which it was asked.
type asked struct {
	*mem.Broker
	keeps   driver.Manner
	manners []driver.Manner
}

func (b *asked) Describe(s driver.Source) driver.Description {
	b.manners = append(b.manners, s.Manner)
	d := b.Broker.Describe(s)
	d.Revokes = s.Manner != b.keeps
	return d
}

// A broker whose receivers differ by how they are opened is asked for those that the consumer would open.
func TestExplainAsksForTheManner(t *testing.T) {
	t.Parallel()
	queue := texts("t")
	spread := wherry.NewTopic("spread", codec.Text{}, wherry.Fanout("g"))
	keyed := wherry.NewKeyedTopic("keyed", codec.Text{}, func(dst []byte, v *string) []byte { return append(dst, *v...) })
	b := &asked{Broker: mem.New(mem.Config{}), keeps: driver.Sequenced}
	for want, source := range map[driver.Manner]*wherry.Consumer{
		driver.Competing:    wherry.Consume(wherry.Queue(b, queue), ackText),
		driver.Sequenced:    wherry.Consume(wherry.Sequence(b, keyed), ackText),
		driver.Broadcasting: wherry.Consume(wherry.Broadcast(b, spread), ackText),
		driver.Transacted:   wherry.Consume(wherry.Transacted(b, queue), ackText),
	} {
		b.manners = nil
		e := wherry.Explain(source)
		assert.Equal(t, len(b.manners), 1)
		assert.Equal(t, b.manners[0], want)
		found := false
		for _, m := range e.Consumers[0].Means {
			if m.What == "revocation" {
				found = true
				assert.Equal(t, m.How == wherry.ByBroker, want != driver.Sequenced)
			}
		}
		assert.True(t, found, "it says what the broker takes back")
	}
}

// What a retry waits at the most depends on how the broker delays, and is not said where that is not known.
func TestExplainSaysAtLeastWhereTheBrokerIsMute(t *testing.T) {
	t.Parallel()
	c := wherry.Consume(wherry.Queue(mutePlain{}, texts("t")), ackText, wherry.RetryWith(wherry.RetryPolicy{
		MaxAttempts: 3, Delays: []time.Duration{50 * time.Millisecond, time.Second},
	}))
	e := wherry.Explain(c)
	plan := e.Consumers[0].Retries
	assert.Equal(t, plan.Steps[0].Shortest, 50*time.Millisecond)
	for _, s := range plan.Steps {
		assert.Equal(t, s.Longest, 0)
	}
	assert.Equal(t, plan.Longest, 0)
	text := e.String()
	assert.True(t, strings.Contains(text, "after failure 1: at least 50ms\n"), text)
	assert.True(t, strings.Contains(text, "in all at least 1.05s\n"), text)
}
