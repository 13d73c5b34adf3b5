package demo

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
)

// stockItem is something that is sold, and its price.
type stockItem struct {
	name  string
	cents int
}

var stockItems = []stockItem{
	{"oar", 4_900}, {"rope", 1_250}, {"lantern", 3_400}, {"anchor", 18_900}, {"sail", 42_000}, {"bailer", 650},
}

// reserve is the function of stock. Trying again mends none of what it finds, so it rejects.
func reserve(_ context.Context, o Order) error {
	if o.Quantity < 1 {
		return wherry.Permanent(fmt.Errorf("the quantity is %d, want at least 1", o.Quantity))
	}
	for _, item := range stockItems {
		if item.name == o.Item {
			return nil
		}
	}
	return wherry.Permanent(fmt.Errorf("no %.40q in the warehouse", o.Item))
}
