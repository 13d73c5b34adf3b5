package mem

import (
	"errors"
	"fmt"
	"time"
)

// The values that LogConfig's zero fields stand for. Those that are not here are of [Config].
const (
	DefaultPartitions     = 8
	DefaultPartitionBytes = 16 << 20
	DefaultMaxState       = 4096
	DefaultRebalance      = 5 * time.Second
)

// LogConfig says how a [LogBroker] is built. The zero LogConfig is a good one. It is read by [NewLog] and not kept.
type LogConfig struct {
	// Partitions is how many partitions each topic has; 0 is DefaultPartitions. Dead-letter and hold topics have one, so that
	// they keep their order. A group has no more working receivers than a topic has partitions.
	Partitions int
	// MaxMessages and MaxBytes bound each partition, with what is finished and kept as history; 0 is DefaultMaxMessages and
	// DefaultPartitionBytes. What every group has finished makes room for what is new. Otherwise Send waits, or fails
	// with [driver.ErrFull] for a dead-letter or hold topic.
	MaxMessages int
	MaxBytes    int
	// DropOldest has a full partition drop its oldest record instead, whoever has not received it. That is a loss, which
	// [LogBroker.Lost] counts for each group.
	DropOldest bool
	// MaxState is how many bytes the state of a commit may take beside the position; 0 is DefaultMaxState. What does not fit
	// is handled again after a crash or a rebalance. The intake of a partition pauses at three quarters of it, and says so.
	MaxState int
	// MaxSpan is how far above its commit position a partition is read before its intake pauses; 0 is as package gap has it.
	MaxSpan uint64
	// MaxRecord is the most bytes of one record's body, key and headers. 0 is MaxBytes, which it never exceeds.
	MaxRecord int
	// SendBatch is what senders advertise as the batch that pays; 0 is that batches gain nothing.
	SendBatch int
	// Rebalance is how long a receiver may go on to settle what it has in hand of a partition that another is to have; 0 is
	// DefaultRebalance. A partition of which nothing is in hand moves at once.
	Rebalance time.Duration
	// AcceptLateSettlements takes commits from a receiver whose tenure in the partition ended, as brokers do that do not fence
	// members: its Settle succeeds, and what it knew stands over what the owner committed since. That brings back what was
	// finished, and loses nothing; the owner's next commit says again what the owner knows.
	AcceptLateSettlements bool
	// Poison overwrites bodies and keys once they are settled, so that whoever kept one is found. It is always on in builds
	// with -race.
	Poison bool
}

// check names every field that is wrong.
func (c *LogConfig) check() error {
	var errs []error
	natural := func(name string, v int) {
		if v < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, which is negative", name, v))
		}
	}
	natural("Partitions", c.Partitions)
	natural("MaxMessages", c.MaxMessages)
	natural("MaxBytes", c.MaxBytes)
	natural("MaxState", c.MaxState)
	natural("MaxRecord", c.MaxRecord)
	natural("SendBatch", c.SendBatch)
	if c.Rebalance < 0 {
		errs = append(errs, fmt.Errorf("%s is %v, which is negative", "Rebalance", c.Rebalance))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("mem: log config: %w", errors.Join(errs...))
}

// fill gives zero fields their values.
func (c *LogConfig) fill() {
	orElse := func(v *int, other int) {
		if *v == 0 {
			*v = other
		}
	}
	orElse(&c.Partitions, DefaultPartitions)
	orElse(&c.MaxMessages, DefaultMaxMessages)
	orElse(&c.MaxBytes, DefaultPartitionBytes)
	orElse(&c.MaxState, DefaultMaxState)
	orElse(&c.MaxRecord, c.MaxBytes)
	c.MaxRecord = min(c.MaxRecord, c.MaxBytes)
	if c.Rebalance == 0 {
		c.Rebalance = DefaultRebalance
	}
	c.Poison = c.Poison || poisonAlways
}
