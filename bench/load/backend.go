package load

import (
	"fmt"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A broker is what the cells need of one.
type broker interface {
	driver.Queuer
	driver.Grouper
	driver.Sequencer
	driver.Broadcaster
	driver.Transactor
}

// An opener opens the broker of a run, which has that many messages at most.
type opener func(o Order) (broker, error)

// openBackend opens a broker by the name of its backend.
func openBackend(o Order) (broker, error) {
	if o.Backend != "mem" {
		return nil, fmt.Errorf("there is no backend %q", o.Backend)
	}
	config := mem.Config{MaxMessages: o.Spec.Bound}
	if o.Spec.Bound == 0 {
		config.MaxMessages = o.Messages + spare
		config.MaxBytes = max(config.MaxMessages*(o.Spec.Payload+envelope), mem.DefaultMaxBytes)
	}
	return mem.New(config), nil
}

// spare is room in a queue beyond the corpus, for what is published to see a consumer stop.
const spare = 64 << 10
