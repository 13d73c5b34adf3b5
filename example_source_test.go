package wherry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// queues is a broker that has nothing else.
type queues struct{ driver.Queuer }

// A broker that was chosen at run time is asked for what a source needs. Where the type is known, the compiler asks.
func ExampleNeed() {
	var broker driver.Broker = queues{mem.New(mem.Config{})}
	if _, err := wherry.Need[driver.Queuer](broker); err == nil {
		fmt.Println("has queues")
	}
	_, err := wherry.Need[driver.Transactor](broker)
	fmt.Println(errors.Is(err, errors.ErrUnsupported), err)
	// Output:
	// has queues
	// true wherry: wherry_test.queues is not a driver.Transactor: unsupported operation
}

// With Verify nothing is created: what is missing is an error at start.
func ExampleVerify() {
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	_, err := wherry.NewPublisher(context.Background(), broker, orders, wherry.Verify())
	fmt.Println(errors.Is(err, wherry.ErrNoTopic), err)
	// Output: true wherry: publish orders: mem: topic "orders": no such topic
}
