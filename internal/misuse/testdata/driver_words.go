// What goes out is a record and what comes in is a delivery; neither stands for the other, nor a verdict for a role.
package misuse

import (
	"context"

	"github.com/wherryhq/wherry/driver"
)

func use(ctx context.Context, s driver.Sender, r driver.Receiver, d *driver.Delivery) {
	_ = s.Send(ctx, []*driver.Delivery{d})                                      // want "as []driver.Record value"
	_ = r.Settle(ctx, []driver.Settlement{{Delivery: d, Verdict: driver.Main}}) // want "as driver.Verdict value"
	_, _ = r.Receive(ctx, []driver.Record{})                                    // want "as []*driver.Delivery value"
}
