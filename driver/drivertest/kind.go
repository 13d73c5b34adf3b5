package drivertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// A kind is a way to receive. Cases that hold for several kinds run once for each that the broker has.
type kind struct {
	name   string
	needs  Ability
	fanout bool
	grouped,
	keyed bool
	manner driver.Manner
	can    func(b driver.Broker) bool
	open   func(ctx context.Context, b driver.Broker, s driver.Source) (driver.Receiver, error)
}

var (
	queueKind = kind{
		name: "queue", needs: Queue, can: is[driver.Queuer], open: opener(driver.Queuer.OpenQueue),
	}
	groupKind = kind{
		name: "group", needs: Group, fanout: true, grouped: true,
		can: is[driver.Grouper], open: opener(driver.Grouper.OpenGroup),
	}
	sequenceKind = kind{
		name: "sequence", needs: Sequence, keyed: true, manner: driver.Sequenced,
		can: is[driver.Sequencer], open: opener(driver.Sequencer.OpenSequence),
	}
	groupSequenceKind = kind{
		name: "group-sequence", needs: GroupSequence, fanout: true, grouped: true, keyed: true, manner: driver.Sequenced,
		can: is[driver.GroupSequencer], open: opener(driver.GroupSequencer.OpenGroupSequence),
	}
	broadcastKind = kind{
		name: "broadcast", needs: Broadcast, fanout: true, manner: driver.Broadcasting,
		can: is[driver.Broadcaster], open: opener(driver.Broadcaster.OpenBroadcast),
	}

	// kinds are all of them, shared those in which any receiver may have any message, ordered those that keep order
	// per key, and settled those in which a settlement means something.
	kinds   = []kind{queueKind, groupKind, sequenceKind, groupSequenceKind, broadcastKind}
	shared  = []kind{queueKind, groupKind}
	ordered = []kind{sequenceKind, groupSequenceKind}
	settled = []kind{queueKind, groupKind, sequenceKind, groupSequenceKind}
)

func is[B any](b driver.Broker) bool {
	_, ok := b.(B)
	return ok
}

func opener[B any](open func(B, context.Context, driver.Source) (driver.Receiver, error)) func(
	context.Context, driver.Broker, driver.Source,
) (driver.Receiver, error) {
	return func(ctx context.Context, b driver.Broker, s driver.Source) (driver.Receiver, error) {
		can, ok := b.(B)
		if !ok {
			return nil, fmt.Errorf("%T is no %T: %w", b, (*B)(nil), errors.ErrUnsupported)
		}
		return open(can, ctx, s)
	}
}
