package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A message over a limit is refused before it is sent. One that comes from elsewhere goes to the dead letters undecoded.
func ExampleBodyLimit() {
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	notes := wherry.NewTopic("notes", codec.Text{}, wherry.BodyLimit(1<<10), wherry.HeaderLimit(64))
	publisher, err := wherry.NewPublisher(ctx, broker, notes)
	if err != nil {
		panic(err)
	}
	err = publisher.Publish(ctx, new(strings.Repeat("x", 2<<10)))
	fmt.Println(errors.Is(err, wherry.ErrTooLarge), err)
	err = publisher.Publish(ctx, new("x"), wherry.WithHeader("trace", strings.Repeat("0", 64)))
	fmt.Println(errors.Is(err, wherry.ErrTooLarge), err)
	// Output:
	// true wherry: publish notes: not sent: too large: body of 2048 bytes, limit 1024
	// true wherry: publish notes: not sent: too large: headers of 69 bytes, limit 64
}
