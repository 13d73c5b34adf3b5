package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// An Order is what a process of its own is to measure, once.
type Order struct {
	Backend  string      `json:"backend"`
	Spec     matrix.Spec `json:"spec"`
	Messages int         `json:"messages"` // of the corpus, or in the window of a live row; a rung has its own number
	Round    int         `json:"round"`
	// Least is how long the windows of a drain are to last together. The first of several warms the process up. 0 is one
	// window, however long it is.
	Least time.Duration `json:"least,omitempty"`
	// Stop asks for the time that a consumer takes to stop while it holds all that it may.
	Stop bool `json:"stop,omitempty"`
}

// parse reads an order, which is the only argument.
func parse(args []string) (Order, error) {
	var o Order
	if len(args) != 1 {
		return o, fmt.Errorf("a cell is measured by one argument, the order as JSON, and there are %d", len(args))
	}
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return o, fmt.Errorf("the order is not understood: %w", err)
	}
	if o.Messages < 1 && o.Spec.Method != document.Offered {
		return o, errors.New("the order has no messages")
	}
	return o, nil
}
