// A broker that can only send is refused wherever a way of receiving is needed, and the message names what it lacks.
package misuse

import (
	"context"

	"github.com/wherryhq/wherry/driver"
)

type outbox struct{}

func (*outbox) OpenSender(context.Context, driver.Target) (driver.Sender, error) { return nil, nil }

func (*outbox) Close(context.Context) error { return nil }

func queue(driver.Queuer)                 {}
func group(driver.Grouper)                {}
func broadcast(driver.Broadcaster)        {}
func sequence(driver.Sequencer)           {}
func groupSequence(driver.GroupSequencer) {}
func transact(driver.Transactor)          {}

func use(b *outbox) {
	queue(b)         // want "*outbox does not implement driver.Queuer" "missing method OpenQueue"
	group(b)         // want "*outbox does not implement driver.Grouper" "missing method OpenGroup"
	broadcast(b)     // want "*outbox does not implement driver.Broadcaster" "missing method OpenBroadcast"
	sequence(b)      // want "*outbox does not implement driver.Sequencer" "missing method OpenSequence"
	groupSequence(b) // want "*outbox does not implement driver.GroupSequencer" "missing method OpenGroupSequence"
	transact(b)      // want "*outbox does not implement driver.Transactor" "missing method OpenTransacted"
}
