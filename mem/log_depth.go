package mem

import (
	"context"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// Depth counts exactly: of each partition its end less what is committed, finished above that, and in hand. What was released is
// ready. Records without a time of publishing are left out of Oldest, which looks at the first of each partition. Of fan-outs
// without a group it counts what all their broadcast readers have together. A topic that does not exist is [driver.ErrNoTopic],
// whatever the source's topology.
func (b *LogBroker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	if err := ctx.Err(); err != nil {
		return driver.Depth{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return driver.Depth{}, err
	}
	s.Topology = driver.External // nothing is made for a question
	shares, err := b.sharesOf(&s)
	if err != nil {
		return driver.Depth{}, err
	}
	return depthOf(shares), nil
}

// depthOf is what waits in all partitions of the shares.
func depthOf(shares []*share) driver.Depth {
	var d driver.Depth
	var oldest driver.Stamp
	for _, s := range shares {
		for _, c := range s.cursors {
			c.depth(&d, &oldest)
		}
	}
	d.Oldest = oldest.Time()
	return d
}

// older notes a time of publishing that is before the oldest so far. A record without one is left out.
func older(oldest *driver.Stamp, published driver.Stamp) {
	if published != 0 && (*oldest == 0 || published < *oldest) {
		*oldest = published
	}
}

// sharesOf are those of a source's group, or of all readers of its topics.
func (b *LogBroker) sharesOf(s *driver.Source) ([]*share, error) {
	var shares []*share
	if s.Group != "" || len(s.Topics) == 0 || !s.Topics[0].Fanout {
		groups, err := b.groupsOf(s)
		for _, g := range groups {
			if g != nil {
				shares = append(shares, g.shares...)
			}
		}
		return shares, err
	}
	topics, err := b.topicsOf(s, true)
	for _, t := range topics {
		for _, p := range t.main.all {
			for _, c := range p.cursors {
				if c.share.group == nil {
					shares = append(shares, c.share)
				}
			}
		}
	}
	return shares, err
}

// A LogPosition is how far a group is in one partition, as the broker keeps it.
type LogPosition struct {
	// Partition is the number of the partition.
	Partition int
	// Begin is the position of the oldest record that is kept, and End the one above the newest.
	Begin, End uint64
	// Commit is the group's commit position: all below it is finished. State says what is finished above it, in the form of
	// package gap; it is empty where nothing is.
	Commit uint64
	State  string
}

// Positions returns how far a group is in each partition of a topic; the group of a queue has no name. It is nil for what does not
// exist.
func (b *LogBroker) Positions(topic, group string) []LogPosition {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[topic]
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(t.groups, func(g *logGroup) bool { return g.name == group })
	if i < 0 {
		return nil
	}
	all := make([]LogPosition, len(t.main.all))
	for j, s := range t.groups[i].shares {
		c := s.cursors[0]
		all[j] = LogPosition{Partition: j, Begin: c.log.base, End: c.log.end(), Commit: c.commit, State: c.state}
	}
	return all
}

// Lost is how many records of a topic were dropped before the group received them, since [LogConfig.DropOldest] is set. It counts
// when a receiver of the group comes to the place, over the life of the broker. The group of a queue has no name.
func (b *LogBroker) Lost(topic, group string) int64 {
	return b.lossOf(lostBy{topic: topic, group: group})
}

// Missed is how many records of the topic were dropped before broadcast readers received them, closed readers included, over the
// life of the broker.
func (b *LogBroker) Missed(topic string) int64 {
	return b.lossOf(lostBy{topic: topic, reader: true})
}

func (b *LogBroker) lossOf(by lostBy) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.lost[by]; n != nil {
		return *n
	}
	return 0
}

// lostBy returns the counter. The caller holds the lock.
func (b *LogBroker) lostBy(by lostBy) *int64 {
	n := b.lost[by]
	if n == nil {
		n = new(int64)
		b.lost[by] = n
	}
	return n
}
