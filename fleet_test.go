package wherry

import (
	"context"
	"testing"

	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// movingBroker has one message in a source, which somebody moves to another after the first look at either.
type movingBroker struct {
	driver.Broker
	looks int
}

// Depth is that of the source by its topic's name.
func (b *movingBroker) Depth(_ context.Context, s driver.Source) (driver.Depth, error) {
	b.looks++
	at := "from"
	if b.looks > 1 {
		at = "to"
	}
	if s.Topics[0].Name == at {
		return driver.Depth{Ready: 1}, nil
	}
	return driver.Depth{}, nil
}

// A copy that arrives behind the back of whoever looks is not overlooked, in whichever order the sources are looked at.
func TestFleetSeesCopyThatMoves(t *testing.T) {
	t.Parallel()
	for range 50 {
		b := &movingBroker{}
		f := newFleet()
		for _, name := range []string{"from", "to"} {
			source := &sourceSpec{broker: b, topic: &topicCore{name: name}}
			f.join(&running{c: &Consumer{source: source}, volatile: true})
		}
		if f.isEmpty(&running{}) {
			t.Fatal("a fleet with a message is said to be empty")
		}
	}
}

// A consumer that is prepared and not yet started belongs to the fleet, so that those which started before it and stop at
// once wait for what they leave to it.
func TestFleetWaitsForThoseThatAreToStart(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	defer b.Close(t.Context())
	f := newFleet()
	topic := NewTopic("topic", codec.Text{})
	c := Consume(Queue(b, topic), func(context.Context, *Message[string]) Outcome { return Ack() })
	start, err := c.Prepare(withFleet(t.Context(), f))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPublisher(t.Context(), b, topic)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	text := "left to it"
	if err := p.Publish(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if f.isEmpty(&running{}) {
		t.Error("a fleet is said to be empty though one that is to start has a message")
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := start(ended); err != nil {
		t.Error(err)
	}
	if n := len(f.now()); n > 0 {
		t.Errorf("%d consumers are left in the fleet", n)
	}
}
