package timing_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

// An item is what every try publishes: a key's message by its number, from 0 on.
type item struct {
	Key string `json:"key"`
	N   int    `json:"n"`
}

func (i item) String() string { return fmt.Sprint(i.Key, i.N) }

func keyOf(dst []byte, v *item) []byte { return append(dst, v.Key...) }

// series are n items of each of the keys, those of a key in order.
func series(n int, keys ...string) []item {
	var all []item
	for i := range n {
		for _, key := range keys {
			all = append(all, item{key, i})
		}
	}
	return all
}

// A book is what is known of the messages of a topic, as one group of it sees them.
type book struct {
	w     *world
	topic wherry.KeyedTopic[item]
	group string

	// What is promised beside that nothing is lost; set before the first handler runs.
	exact    bool // each message has one end, acknowledged once or dead or left
	ordered  bool // no message is handled before those of its key before it have an end
	alone    bool // no key is with two handlers at a time
	setAside bool // nor after one of its key was given up
	attempts int  // after which a message is given up; 0 is never
	reads    bool // it is a broadcast reader: the broker keeps nothing for it

	mu       sync.Mutex // guards the fields below
	sent     []item
	known    map[item]bool // sent, or perhaps sent
	calls    []string      // "a0/1" is the first attempt of a0
	busy     map[string]int
	failures map[item]int
	done     map[item]int
	given    map[item]bool // up
	excused  map[item]bool
	left     map[item]int // by the audit
	dead     map[item]int
}

// book opens one for a topic that is a queue.
func (w *world) book(name string, opts ...wherry.TopicOption) *book {
	return w.groupBook("", wherry.NewKeyedTopic(name, codec.JSON[item]{}, keyOf, opts...))
}

// groupBook opens one for a group of a fan-out.
func (w *world) groupBook(group string, t wherry.KeyedTopic[item]) *book {
	b := &book{
		w: w, topic: t, group: group, attempts: 5, known: map[item]bool{}, busy: map[string]int{}, failures: map[item]int{},
		done: map[item]int{}, given: map[item]bool{}, excused: map[item]bool{},
	}
	w.books = append(w.books, b)
	return b
}

// reader opens one for a broadcast reader of a fan-out.
func (w *world) reader(t wherry.KeyedTopic[item]) *book {
	b := w.groupBook("", t)
	b.reads = true
	return b
}

// fanout is a topic with groups.
func fanout(name string, groups ...string) wherry.KeyedTopic[item] {
	return wherry.NewKeyedTopic(name, codec.JSON[item]{}, keyOf, wherry.Fanout(groups...))
}

// publish publishes items, which the broker has to take, for every book of the topic.
func (b *book) publish(items ...item) {
	b.w.Helper()
	for _, it := range items {
		if err := b.offer(b.w.Context(), it); err != nil {
			b.w.Fatalf("publish %v: %v", it, err)
		}
	}
}

// offer publishes an item, which the broker may refuse.
func (b *book) offer(ctx context.Context, it item, opts ...wherry.MessageOption) error {
	name := b.topic.Name()
	p, err := b.publisher(ctx)
	if err != nil {
		return err
	}
	err = p.Publish(ctx, &it, opts...)
	if errors.Is(err, wherry.ErrNotSent) {
		return err
	}
	for _, other := range b.w.books {
		if other.topic.Name() == name {
			other.note(it, err == nil)
		}
	}
	return err
}

// publisher is the one of the topic.
func (b *book) publisher(ctx context.Context) (*wherry.Publisher[item], error) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	name := b.topic.Name()
	p := b.w.publishers[name]
	if p == nil {
		var err error
		if p, err = wherry.NewPublisher(context.WithoutCancel(ctx), b.w.broker, b.topic); err != nil {
			return nil, err
		}
		b.w.publishers[name] = p
	}
	return p, nil
}

func (b *book) note(it item, sure bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sure {
		b.sent = append(b.sent, it)
	}
	b.known[it] = true
}

// excuse notes that what has no end by now may be lost by the broker.
func (b *book) excuse() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range b.sent {
		if b.done[it] == 0 {
			b.excused[it] = true
		}
	}
}

// weigh holds that the broker has as many as have no end, and excuses those.
func (b *book) weigh() {
	b.w.Helper()
	has := 0
	for _, s := range b.places() {
		has += b.w.depth(s)
	}
	b.mu.Lock()
	missing := 0
	for _, it := range b.sent {
		if b.done[it] == 0 {
			missing++
		}
	}
	b.mu.Unlock()
	if missing > has && !b.reads {
		b.w.Errorf("%s: %d have no end, and the broker has %d", b.name(), missing, has)
	}
	b.excuse()
}

func (b *book) name() string { return strings.TrimSuffix(b.topic.Name()+"/"+b.group, "/") }

// places are the topics in which a message of the book may be, dead letters last.
func (b *book) places() []driver.Source {
	name := b.topic.Name()
	main := driver.Topic{Name: name, Fanout: b.group != "", Keyed: true}
	if b.group != "" {
		name += "." + b.group
	}
	all := []driver.Source{{Topics: []driver.Topic{main}, Group: b.group}}
	for _, step := range []string{"200ms", "800ms", "3_2s", "12_8s", "30s", "5m", "1h", "6h"} {
		all = append(all, driver.Source{Topics: []driver.Topic{{Name: name + ".hold." + step, Role: driver.Hold}}})
	}
	return append(all, driver.Source{Topics: []driver.Topic{{Name: name + ".dlq", Role: driver.DeadLetter}}})
}

// waits is how many messages the broker has for the book, dead letters apart.
func (b *book) waits() int {
	b.w.Helper()
	places := b.places()
	n := 0
	for _, s := range places[:len(places)-1] {
		n += b.w.depth(s)
	}
	return n
}

// letters is how many dead letters there are.
func (b *book) letters() int {
	places := b.places()
	return b.w.depth(places[len(places)-1])
}

// handler notes what h does.
func (b *book) handler(h wherry.Handler[item]) wherry.Handler[item] {
	return func(ctx context.Context, m *wherry.Message[item]) (o wherry.Outcome) {
		it, attempt := m.Value, m.Attempt()
		if got := string(m.Key()); got != it.Key {
			b.w.Errorf("%s: the key of %v is %q", b.name(), it, got)
		}
		b.begin(it, attempt)
		defer func() { b.over(ctx, it, attempt, o) }()
		return h(ctx, m)
	}
}

// batch notes what h does.
func (b *book) batch(h wherry.BatchHandler[item]) wherry.BatchHandler[item] {
	return func(ctx context.Context, mb *wherry.MessageBatch[item]) (all wherry.Outcome) {
		items, attempts := make([]item, mb.Len()), make([]int, mb.Len())
		for i, m := range mb.All() {
			items[i], attempts[i] = m.Value, m.Attempt()
			b.begin(items[i], attempts[i])
		}
		defer func() {
			for i, it := range items {
				o, set := mb.Outcome(i)
				if !set {
					o = all
				}
				b.over(ctx, it, attempts[i], o)
			}
		}()
		return h(ctx, mb)
	}
}

// begin notes a call.
func (b *book) begin(it item, attempt int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, fmt.Sprintf("%v/%d", it, attempt))
	if most := 1 + b.failures[it]; attempt > most {
		b.w.Errorf("%s: %v is at attempt %d after %d failures", b.name(), it, attempt, most-1)
	}
	b.busy[it.Key]++
	if n := b.busy[it.Key]; n > 1 && b.alone && it.Key != "" {
		b.w.Errorf("%s: %d handlers have the key %s", b.name(), n, it.Key)
	}
	if !b.ordered || it.Key == "" {
		return
	}
	for n := range it.N {
		before := item{it.Key, n}
		switch {
		case b.excused[before]:
		case b.setAside && b.given[before]:
			b.w.Errorf("%s: %v is handled, and %v was given up", b.name(), it, before)
		case b.known[before] && b.done[before] == 0 && !b.given[before]:
			b.w.Errorf("%s: %v is handled before %v has an end: %v", b.name(), it, before, b.calls)
		}
	}
}

// over notes the outcome of a call.
func (b *book) over(ctx context.Context, it item, attempt int, o wherry.Outcome) {
	cause := context.Cause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[it.Key]--
	switch o.Kind() {
	case wherry.KindAck:
		b.done[it]++
		delete(b.given, it)
	case wherry.KindReject:
		b.failures[it]++
		b.given[it] = true
	case wherry.KindRetry:
		b.failures[it]++
		if attempt == b.attempts && !errors.Is(cause, wherry.ErrDraining) && !errors.Is(cause, wherry.ErrRevoked) {
			b.given[it] = true
		}
	case wherry.KindDefer:
	}
}

// seen are the calls so far, such as "a0/1 a0/2".
func (b *book) seen() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.calls, " ")
}

// acks is how many messages were acknowledged.
func (b *book) acks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.done)
}

// missing are those that have no end, of which some may be left at the broker.
func (b *book) missing() []item {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []item
	for _, it := range b.sent {
		if b.done[it] == 0 && !b.given[it] {
			all = append(all, it)
		}
	}
	return all
}

// audit closes the book: whatever was published has an end, or is at the broker.
func (b *book) audit() {
	b.w.Helper()
	b.left, b.dead = map[item]int{}, map[item]int{}
	if b.reads {
		b.auditReader()
		return
	}
	if !b.w.closed {
		places := b.places()
		for i, s := range places {
			in := b.left
			if i == len(places)-1 {
				in = b.dead
			}
			for _, it := range b.w.take(s) {
				in[it]++
			}
		}
	}
	b.mu.Lock() // of handlers that were abandoned, and have returned since
	defer b.mu.Unlock()
	for it := range b.done {
		if !b.known[it] {
			b.w.Errorf("%s: %v was never published", b.name(), it)
		}
	}
	for _, it := range b.sent {
		ends := b.done[it] + b.left[it] + b.dead[it]
		switch {
		case ends == 0 && !b.excused[it]:
			b.w.Errorf("%s: %v is lost; calls: %v", b.name(), it, b.calls)
		case b.exact && ends > 1:
			b.w.Errorf("%s: %v was acknowledged %d times, is left %d times and dead %d times; calls: %v",
				b.name(), it, b.done[it], b.left[it], b.dead[it], b.calls)
		}
	}
}

// auditReader is audit for a reader: what it did not come to it has told of.
func (b *book) auditReader() {
	b.w.Helper()
	missed := b.w.missed(b.topic.Name())
	lost := b.missing()
	lost = slices.DeleteFunc(lost, func(it item) bool { return b.excused[it] })
	if len(lost) > b.w.left+missed {
		b.w.Errorf("%s: the reader did not see %v, told of %d and missed %d", b.name(), lost, b.w.left, missed)
	}
}

// missed is how many records the readers of a topic were too slow for.
func (w *world) missed(topic string) int {
	if w.log != nil {
		return int(w.log.Missed(topic))
	}
	return int(w.mem.Missed(topic))
}
