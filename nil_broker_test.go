package wherry_test

import (
	"strings"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

// A nil pointer to a broker is a nil broker, wherever one is named.
func TestNilPointerIsNoBroker(t *testing.T) {
	t.Parallel()
	var b *mem.Broker
	fan := wherry.NewTopic("fan", jsonOrders{}, wherry.Fanout("g"))
	_, published := wherry.NewPublisher(t.Context(), b, orders)
	_, redriven := wherry.Redrive(t.Context(), b, orders)
	for name, err := range map[string]error{
		"publisher": published, "redrive": redriven,
		"queue":       wherry.Run(t.Context(), wherry.Consume(wherry.Queue(b, orders), done)),
		"group":       wherry.Run(t.Context(), wherry.Consume(wherry.Group(b, "g", fan), done)),
		"broadcast":   wherry.Run(t.Context(), wherry.Consume(wherry.Broadcast(b, fan), done)),
		"transaction": wherry.Run(t.Context(), wherry.Consume(wherry.Transacted(b, orders), done)),
	} {
		if err == nil || !strings.Contains(err.Error(), "the broker is nil") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
