package mem

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/wherryhq/wherry/driver"
)

// A topic is a name with its queues: one without a group, or one for each group and broadcast reader of a fan-out.
type topic struct {
	name   string
	fanout bool
	gone   atomic.Bool
	heard  atomic.Bool              // it has or had a broadcast reader, so that what nobody gets may be sent
	queues atomic.Pointer[[]*queue] // replaced, never changed; in the order of their ids
	dedup  *window                  // nil where nothing is de-duplicated
}

func (t *topic) all() []*queue { return *t.queues.Load() }

// queue returns the queue of a group, or nil.
func (t *topic) queue(group string) *queue {
	for _, q := range t.all() {
		if q.group == group {
			return q
		}
	}
	return nil
}

// name says which queue it is, for errors.
func (q *queue) name() string {
	if q.group == "" {
		return q.topic
	}
	return q.topic + "/" + q.group
}

// declare finds a topic, and makes it and its groups as far as the mode allows. The caller holds b.mu.
func (b *Broker) declare(d driver.Topic, mode driver.Topology) (*topic, error) {
	if err := checkTopic(d); err != nil {
		return nil, err
	}
	t := b.topics[d.Name]
	if t == nil {
		if mode != driver.Declare {
			return nil, fmt.Errorf("mem: topic %q: %w", d.Name, driver.ErrNoTopic)
		}
		t = &topic{name: d.Name, fanout: d.Fanout}
		t.queues.Store(new([]*queue))
		t.heard.Store(b.missed[d.Name] != nil)
		if b.cfg.Weak.Dedup > 0 {
			t.dedup = &window{}
		}
		b.topics[d.Name] = t
		if !d.Fanout {
			b.addQueue(t, "")
		}
	}
	if t.fanout != d.Fanout {
		return nil, fmt.Errorf("mem: topic %q is declared as a %s and used as a %s", d.Name, kind(t.fanout), kind(d.Fanout))
	}
	if mode == driver.External {
		return t, nil
	}
	for _, g := range d.Groups {
		if _, err := b.declareGroup(t, g, mode); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// declareGroup finds the queue of a group, and makes it if the mode allows. The caller holds b.mu.
func (b *Broker) declareGroup(t *topic, group string, mode driver.Topology) (*queue, error) {
	if q := t.queue(group); q != nil {
		return q, nil
	}
	if mode != driver.Declare {
		return nil, fmt.Errorf("mem: group %q of topic %q: %w", group, t.name, driver.ErrNoTopic)
	}
	return b.addQueue(t, group), nil
}

func (b *Broker) addQueue(t *topic, group string) *queue {
	return b.add(t, &queue{topic: t.name, group: group})
}

func (b *Broker) add(t *topic, q *queue) *queue {
	b.lastQueue++
	q.b, q.id, q.prefix, q.poison = b, b.lastQueue, rand.Uint64(), b.cfg.Poison
	queues := append(slices.Clip(t.all()), q)
	t.queues.Store(&queues)
	return q
}

func checkTopic(d driver.Topic) error {
	switch {
	case d.Name == "":
		return errors.New("mem: a topic without a name")
	case !d.Fanout && len(d.Groups) > 0:
		return fmt.Errorf("mem: topic %q is a queue and has groups", d.Name)
	case slices.Contains(d.Groups, ""):
		return fmt.Errorf("mem: topic %q has a group without a name", d.Name)
	}
	return nil
}

func kind(fanout bool) string {
	if fanout {
		return "fan-out"
	}
	return "queue"
}

// A route is where a target leads.
type route struct {
	topic *topic
	queue []*queue // the one queue of the target; empty for every group of a fan-out
	only  *queue   // the same one; nil for every group
}

func (r *route) all() []*queue {
	if r.only != nil {
		return r.queue
	}
	return r.topic.all()
}

// find resolves a target. The caller holds b.mu.
func (b *Broker) find(t driver.Target) (*route, error) {
	top, err := b.declare(t.Topic, t.Topology)
	if err != nil {
		return nil, err
	}
	r := &route{topic: top}
	switch {
	case top.fanout && t.Group != "":
		r.only, err = b.declareGroup(top, t.Group, t.Topology)
	case top.fanout:
	case t.Group != "":
		err = fmt.Errorf("mem: topic %q is a queue and has no group %q", top.name, t.Group)
	default:
		r.only = top.queue("")
	}
	if err != nil {
		return nil, err
	}
	if r.only != nil {
		r.queue = []*queue{r.only}
	}
	return r, nil
}

// find resolves the sender's target again.
func (s *sender) find() (*route, error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if err := s.b.usable(); err != nil {
		return nil, err
	}
	r, err := s.b.find(s.target)
	if err == nil {
		s.route.Store(r)
	}
	return r, err
}

// queues returns where the sender sends now, looking again for a topic that was wiped away.
func (s *sender) queues() ([]*queue, error) {
	r := s.route.Load()
	if s.b.closed.Load() {
		return nil, notSent(errBrokerClosed)
	}
	if r.topic.gone.Load() {
		var err error
		if r, err = s.find(); err != nil {
			return nil, notSent(err)
		}
	}
	qs := r.all()
	if len(qs) == 0 && !r.topic.heard.Load() {
		return nil, fmt.Errorf("mem: fan-out %q has no group and no broadcast reader that would get the record: %w: %w",
			r.topic.name, driver.ErrNoTopic, driver.ErrNotSent)
	}
	return qs, nil
}
