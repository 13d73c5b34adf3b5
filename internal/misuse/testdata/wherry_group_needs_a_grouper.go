// A broker that has queues alone is no source of a group, and the compiler names the method that it lacks.
package misuse

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

type queues struct{}

func (queues) OpenSender(context.Context, driver.Target) (driver.Sender, error)  { return nil, nil }
func (queues) OpenQueue(context.Context, driver.Source) (driver.Receiver, error) { return nil, nil }
func (queues) Close(context.Context) error                                       { return nil }

var topic = wherry.NewTopic("t", codec.Text{}, wherry.Fanout("g"))

var (
	_ = wherry.Queue(queues{}, topic)
	_ = wherry.Group(queues{}, "g", topic) // want "queues does not implement driver.Grouper" "missing method OpenGroup"
)
