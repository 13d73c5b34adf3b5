package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

// The engine's promises about order and broadcasts, on this broker.
func engineSequenceCases() []Case {
	return []Case{
		{
			Name:     "engine/sequence-order",
			Sentence: "In a sequence each key is handled in publish order, one message at a time, through failures, defers and panics, by whichever worker.",
			kinds:    ordered, Run: sequenceOrder,
		},
		{
			Name:     "engine/sequence-waits",
			Sentence: "In a sequence a message that failed keeps its key waiting until its retry, with the attempts counted, and no other key.",
			kinds:    ordered, Run: sequenceWaits,
		},
		{
			Name:     "engine/sequence-skip",
			Sentence: "A message of a sequence that used up its attempts is in the dead letters, byte for byte, and then its key goes on.",
			kinds:    ordered, Run: sequenceSkips,
		},
		{
			Name:     "engine/sequence-park",
			Sentence: "A parked key is in the dead letters in publish order, and all of it is handled in that order after a redrive.",
			kinds:    ordered, Run: sequenceParks,
		},
		{
			Name:     "engine/sequence-restart",
			Sentence: "A sequence that is stopped in the middle goes on in order where it was, in another consumer.",
			kinds:    ordered, Run: sequenceRestarts,
		},
		{
			Name:     "engine/broadcast",
			Sentence: "Every broadcast consumer handles every message; one that fails is tried again there, and nowhere else.",
			kinds:    []kind{broadcastKind}, Run: broadcastHandled,
		},
	}
}

// A keyedApp is a service whose topic has keys: the texts are "key:number", numbered from 0 for each key.
type keyedApp struct {
	*app
	keyed wherry.KeyedTopic[string]
	pub   *wherry.Publisher[string]

	mu     sync.Mutex // guards the fields below
	busy   map[string]bool
	called map[string][]int // of each key, in the order of the calls
	done   map[string][]int
}

func (t *T) keyedApp(opts ...wherry.TopicOption) *keyedApp {
	l := t.line()
	a := &keyedApp{app: &app{t: t, l: l}, busy: map[string]bool{}, called: map[string][]int{}, done: map[string][]int{}}
	if l.kind.fanout {
		opts = append(opts, wherry.Fanout(l.topic.Groups...))
	}
	a.keyed = wherry.NewKeyedTopic(l.topic.Name, codec.Text{}, func(dst []byte, v *string) []byte {
		key, _, _ := strings.Cut(*v, ":")
		return append(dst, key...)
	}, opts...)
	p, err := wherry.NewPublisher(t.soon(), l.b, a.keyed)
	if err != nil {
		t.Fatalf("NewPublisher: %v", err)
	}
	t.Cleanup(func() { t.closing("Publisher.Close", p.Close) })
	a.pub = p
	return a
}

// publish publishes n messages of each key, in turn.
func (a *keyedApp) publish(each int, keys ...string) {
	for n := range each {
		for _, key := range keys {
			text := key + ":" + strconv.Itoa(n)
			if err := a.pub.Publish(a.t.soon(), &text, wherry.WithID(text)); err != nil {
				a.t.Fatalf("Publish: %v", err)
			}
		}
	}
}

func (a *keyedApp) consumer(result func(key string, n int, m *wherry.Message[string]) wherry.Outcome,
	sequence []wherry.SequenceOption, opts ...wherry.ConsumeOption,
) *wherry.Consumer {
	h := func(_ context.Context, m *wherry.Message[string]) (o wherry.Outcome) {
		a.calls.add(m)
		key, number, _ := strings.Cut(m.Value, ":")
		n, err := strconv.Atoi(number)
		if err != nil || string(m.Key()) != key {
			a.t.Errorf("came %q with the key %q", m.Value, m.Key())
		}
		a.mu.Lock()
		if a.busy[key] {
			a.t.Errorf("two handlers have the key %q", key)
		}
		a.busy[key] = true
		a.called[key] = append(a.called[key], n)
		a.mu.Unlock()
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.busy[key] = false
			if o.Kind() == wherry.KindAck {
				a.done[key] = append(a.done[key], n)
			}
		}()
		return result(key, n, m)
	}
	return wherry.Consume(a.sequence(sequence...), h, opts...)
}

func (a *keyedApp) sequence(opts ...wherry.SequenceOption) wherry.Source[string] {
	if a.l.kind.grouped {
		if b, ok := a.l.b.(driver.GroupSequencer); ok {
			return wherry.GroupSequence(b, a.l.group, a.keyed, opts...)
		}
	} else if b, ok := a.l.b.(driver.Sequencer); ok {
		return wherry.Sequence(b, a.keyed, opts...)
	}
	a.t.Fatalf("%T has no %s", a.l.b, a.l.kind.name)
	return wherry.Source[string]{}
}

// inOrder wants the first n of each key handled in order, each again and again until it was done.
func (a *keyedApp) inOrder(n int, keys ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		if got := a.done[key]; len(got) != n || !slices.IsSorted(got) {
			a.t.Errorf("of key %s %v are done, want 0 to %d in order", key, got, n-1)
		}
		for i, called := range a.called[key] {
			if i > 0 && called != a.called[key][i-1] && called != a.called[key][i-1]+1 {
				a.t.Errorf("the calls for key %s are %v", key, a.called[key])
				break
			}
		}
	}
}

// settled waits until so many of the keys are done, all together.
func (a *keyedApp) settled(n int) {
	count := func() (all int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, done := range a.done {
			all += len(done)
		}
		return all
	}
	if !a.t.eventually(func() bool { return count() >= n }) {
		a.t.Fatalf("%d messages are done within %v, want %d", count(), a.t.h.Wait, n)
	}
}

func someKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}

func sequenceOrder(t *T) {
	a := t.keyedApp(t.soonRetry(20))
	short, _ := t.delays()
	keys := someKeys(7)
	result := func(_ string, n int, m *wherry.Message[string]) wherry.Outcome {
		switch first := m.Attempt() == 1; {
		case first && n%10 == 3:
			return wherry.Retry(errors.New("now and then"))
		case first && n%10 == 7:
			outOfRange(1)
		case first && n == 5 && len(a.calls.of(m.ID())) == 1:
			return wherry.Defer(short)
		}
		return wherry.Ack()
	}
	s := t.start(a.consumer(result, nil, wherry.Workers(2), wherry.Concurrency(3)))
	const each = 20
	a.publish(each, keys...)
	a.settled(each * len(keys))
	s.stop()
	a.inOrder(each, keys...)
	a.l.empty()
}

func sequenceWaits(t *T) {
	a := t.keyedApp(wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{t.h.slack()}, Jitter: wherry.NoJitter}))
	result := func(key string, n int, m *wherry.Message[string]) wherry.Outcome {
		if key == "bad" && n == 0 && m.Attempt() < 3 {
			return wherry.Retry(errors.New("not yet"))
		}
		return wherry.Ack()
	}
	s := t.start(a.consumer(result, nil))
	a.publish(4, "bad", "good")
	a.settled(8)
	s.stop()
	a.inOrder(4, "bad", "good")
	if got := a.calls.attempts("bad:0"); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("attempts %v, want 1 2 3", got)
	}
	ids, at := a.calls.ids(), a.calls.of("bad:0")
	if slices.Index(ids, "good:3") > slices.Index(ids, "bad:1") {
		t.Errorf("the calls were %v: the good key waited for the bad one", ids)
	}
	for i := 1; i < len(at); i++ {
		if waited := at[i].at.Sub(at[i-1].at); waited < t.h.slack() {
			t.Errorf("attempt %d came after %v, want %v at least", i+1, waited, t.h.slack())
		}
	}
}

func sequenceSkips(t *T) {
	a := t.keyedApp(t.soonRetry(2))
	result := func(_ string, n int, _ *wherry.Message[string]) wherry.Outcome {
		if n == 1 {
			return wherry.Retry(errors.New("never"))
		}
		return wherry.Ack()
	}
	s := t.start(a.consumer(result, nil))
	a.publish(3, "key")
	a.settled(2)
	s.stop()
	if got := a.calls.ids(); !slices.Equal(got, []string{"key:0", "key:1", "key:1", "key:2"}) {
		t.Errorf("the calls were %v", got)
	}
	r := a.deadLettersOf().receiver()
	ds := r.take(1)
	if d := ds[0]; d.ID.String() != "key:1" || string(d.Body) != "key:1" || string(d.Key) != "key" || d.Control.Failure == nil {
		t.Errorf("the dead letter is %q, key %q, body %q, %+v", d.ID, d.Key, d.Body, d.Control.Failure)
	}
	r.done(ds...)
	r.none()
}

// deadLettersOf is the topic of the app's dead letters, as a line.
func (a *keyedApp) deadLettersOf() *line {
	name := a.keyed.Name() + ".dlq"
	if a.l.kind.grouped {
		name = a.keyed.Name() + "." + a.l.group + ".dlq"
	}
	return &line{t: a.t, b: a.l.b, kind: queueKind, topic: driver.Topic{Name: name, Role: driver.DeadLetter}}
}

func sequenceParks(t *T) {
	queuer, ok := t.Broker().(driver.Queuer)
	if !ok {
		t.Logf("%T has no queues, and so no redrive", t.Broker())
		return
	}
	a := t.keyedApp(t.soonRetry(1))
	var mu sync.Mutex
	broken := true
	result := func(key string, n int, _ *wherry.Message[string]) wherry.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if key == "bad" && n == 1 && broken {
			return wherry.Retry(errors.New("never, for now"))
		}
		return wherry.Ack()
	}
	park := []wherry.SequenceOption{wherry.OnFailure(wherry.Park)}
	var events deadLetterCount
	s := t.start(a.consumer(result, park, wherry.OnEvent(events.add)))
	a.publish(10, "bad", "good")
	a.settled(11)
	if !t.eventually(func() bool { return events.count() == 9 }) {
		t.Fatalf("%d messages are set aside within %v, want 9", events.count(), t.h.Wait)
	}
	mu.Lock()
	broken = false
	mu.Unlock()
	var opts []wherry.RedriveOption
	if a.l.kind.grouped {
		opts = append(opts, wherry.RedriveGroup(a.l.group))
	}
	if done, err := wherry.Redrive(t.soon(), queuer, a.keyed, opts...); err != nil || done.Moved != 9 {
		t.Errorf("Redrive moved %d, %v, want 9", done.Moved, err)
	}
	a.settled(20)
	s.stop()
	a.inOrder(10, "good")
	if got := a.done["bad"]; !slices.IsSorted(got) || len(got) != 10 {
		t.Errorf("of the bad key %v are done", got)
	}
}

// deadLetterCount counts dead letters.
type deadLetterCount struct {
	mu sync.Mutex
	n  int
}

func (c *deadLetterCount) add(e wherry.Event) {
	if _, ok := e.(*wherry.DeadLettered); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n++
	}
}

func (c *deadLetterCount) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func sequenceRestarts(t *T) {
	a := t.keyedApp()
	keys := someKeys(3)
	var once sync.Once
	half := make(chan struct{})
	result := func(_ string, n int, _ *wherry.Message[string]) wherry.Outcome {
		if n == 4 {
			once.Do(func() { close(half) })
		}
		return wherry.Ack()
	}
	const each = 12
	a.publish(each, keys...)
	first := t.start(a.consumer(result, nil, wherry.DrainTime(0), wherry.GraceTime(t.h.Wait)))
	select {
	case <-half:
	case <-t.soon().Done():
		t.Fatalf("half was not handled within %v", t.h.Wait)
	}
	first.stop()
	second := t.start(a.consumer(result, nil))
	a.settled(each * len(keys))
	second.stop()
	a.inOrder(each, keys...)
	a.l.empty()
}

func broadcastHandled(t *T) {
	l := t.line()
	b, ok := l.b.(driver.Broadcaster)
	if !ok {
		t.Fatalf("%T has no broadcast", l.b)
	}
	topic := wherry.NewTopic(l.topic.Name, codec.Text{}, wherry.Fanout(l.topic.Groups...), t.soonRetry(3))
	seen := make([]calls, 2)
	var consumers []*wherry.Consumer
	for i := range seen {
		consumers = append(consumers, wherry.Consume(wherry.Broadcast(b, topic), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			if seen[i].add(m) == 1 && i == 0 && m.ID() == "text-0001" {
				return wherry.Retry(errors.New("once, here"))
			}
			return wherry.Ack()
		}))
	}
	s := t.start(consumers...)
	p := t.publisher(l.b, topic)
	all := texts(5)
	for _, text := range all {
		if err := p.Publish(t.soon(), &text, wherry.WithID(text)); err != nil {
			t.Fatalf("Publish: %v", err)
		}
	}
	if !t.eventually(func() bool { return seen[0].count() > len(all) && seen[1].count() >= len(all) }) {
		t.Fatalf("%d and %d calls within %v", seen[0].count(), seen[1].count(), t.h.Wait)
	}
	t.pause(t.h.Quiet)
	s.stop()
	if a, b := seen[0].count(), seen[1].count(); a != len(all)+1 || b != len(all) {
		t.Errorf("%d and %d calls, want %d and %d", a, b, len(all)+1, len(all))
	}
	if got := seen[0].attempts("text-0001"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("attempts %v, want 1 2", got)
	}
}
