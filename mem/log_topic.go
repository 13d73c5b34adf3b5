package mem

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/wherryhq/wherry/driver"
)

// A logTopic is a name with its partitions, and the groups that read them. A queue has one group, without a name.
type logTopic struct {
	b      *LogBroker
	id     uint64 // a topic that is made anew is another
	name   string
	role   driver.Role
	fanout bool
	gone   bool // wiped away
	main   *partitions
	groups []*logGroup
}

// partitions are a topic's, or those of what is sent to one group alone.
type partitions struct {
	all  []*partition
	turn int // of the next record without a key
}

// pick chooses the partition of a key.
func (ps *partitions) pick(key []byte) *partition {
	if len(key) > 0 {
		return ps.all[int(keyHash(key)%uint32(len(ps.all)))]
	}
	ps.turn = (ps.turn + 1) % len(ps.all)
	return ps.all[ps.turn]
}

// keyHash is FNV-1a of 32 bits, so that a key has the same partition wherever there are as many.
func keyHash(key []byte) uint32 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for _, c := range key {
		h = (h ^ uint32(c)) * prime
	}
	return h
}

// partitions makes the partitions of a topic, or those of one group.
func (t *logTopic) partitions(suffix string, history bool) *partitions {
	n := t.b.cfg.Partitions
	if t.role != driver.Main {
		n = 1
	}
	ps := &partitions{all: make([]*partition, n)}
	for i := range ps.all {
		ps.all[i] = &partition{t: t, index: i, name: t.name + suffix + "/" + strconv.Itoa(i), history: history}
	}
	return ps
}

// declare finds a topic, and makes it and its groups as far as the mode allows. The caller holds the lock.
func (b *LogBroker) declare(d driver.Topic, mode driver.Topology) (*logTopic, error) {
	if err := checkTopic(d); err != nil {
		return nil, err
	}
	t := b.topics[d.Name]
	if t == nil {
		if mode != driver.Declare {
			return nil, fmt.Errorf("mem: topic %q: %w", d.Name, driver.ErrNoTopic)
		}
		t = &logTopic{b: b, id: b.number(), name: d.Name, role: d.Role, fanout: d.Fanout}
		t.main = t.partitions("", d.Fanout)
		b.topics[d.Name] = t
		if !d.Fanout {
			t.addGroup("")
		}
	}
	if t.fanout != d.Fanout {
		return nil, fmt.Errorf("mem: topic %q is declared as a %s and used as a %s", d.Name, kind(t.fanout), kind(d.Fanout))
	}
	if mode == driver.External {
		return t, nil
	}
	for _, g := range d.Groups {
		if _, err := t.declareGroup(g, mode); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *logTopic) declareGroup(name string, mode driver.Topology) (*logGroup, error) {
	if i := slices.IndexFunc(t.groups, func(g *logGroup) bool { return g.name == name }); i >= 0 {
		return t.groups[i], nil
	}
	if mode != driver.Declare {
		return nil, fmt.Errorf("mem: group %q of topic %q: %w", name, t.name, driver.ErrNoTopic)
	}
	return t.addGroup(name), nil
}

// addGroup makes a group, which begins at the end of the topic.
func (t *logTopic) addGroup(name string) *logGroup {
	g := &logGroup{t: t, name: name}
	if name != "" {
		g.own = t.partitions("."+name, false)
	}
	lost := t.b.lostBy(lostBy{topic: t.name, group: name})
	for i, p := range t.main.all {
		s := &share{b: t.b, group: g}
		s.add(p, p.end(), lost)
		if g.own != nil {
			s.add(g.own.all[i], 0, lost)
		}
		g.shares = append(g.shares, s)
	}
	t.groups = append(t.groups, g)
	return g
}

// topicsOf returns the topics of a source, which are fan-outs or queues. The caller holds the lock.
func (b *LogBroker) topicsOf(s *driver.Source, fanouts bool) ([]*logTopic, error) {
	if len(s.Topics) == 0 {
		return nil, errors.New("mem: a source without topics")
	}
	topics := make([]*logTopic, 0, len(s.Topics))
	for _, d := range s.Topics {
		if slices.ContainsFunc(topics, func(t *logTopic) bool { return t.name == d.Name }) {
			return nil, fmt.Errorf("mem: topic %q is twice in one source", d.Name)
		}
		if d.Fanout != fanouts {
			return nil, fmt.Errorf("mem: topic %q is a %s and cannot be opened as a %s",
				d.Name, kind(d.Fanout), consumer(s.Group, fanouts))
		}
		t, err := b.declare(d, s.Topology)
		if err != nil {
			return nil, err
		}
		topics = append(topics, t)
	}
	return topics, nil
}

// groupsOf returns the groups of a source. The caller holds the lock.
func (b *LogBroker) groupsOf(s *driver.Source) ([]*logGroup, error) {
	topics, err := b.topicsOf(s, s.Group != "")
	if err != nil {
		return nil, err
	}
	groups := make([]*logGroup, len(topics))
	for i, t := range topics {
		if groups[i], err = t.declareGroup(s.Group, s.Topology); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// end lets everybody who waits for the topic look again.
func (t *logTopic) end() {
	t.gone = true
	for _, p := range t.main.all {
		p.wakeSenders()
	}
	for _, g := range t.groups {
		if g.own == nil {
			continue
		}
		for _, p := range g.own.all {
			p.wakeSenders()
		}
	}
}
