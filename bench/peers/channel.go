package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/wherryhq/wherry/driver"
)

// inlined is the size of the bodies that a parcel holds.
const inlined = 64

// A parcel is as large as a delivery and holds a body of its own. The body stands in it, and not in memory that it points
// to, since that is what makes a channel fastest: nothing is allocated, and one copy moves all.
type parcel struct {
	body [inlined]byte
	_    [unsafe.Sizeof(driver.Delivery{}) - inlined]byte
}

// openChannel is a Go channel of parcels. The producer copies a body into each, and the receiver copies it out.
func openChannel(_ context.Context, b *bed) (*subject, error) {
	if err := onlyLive(b.Options, "a corpus in a channel needs a channel of its size"); err != nil {
		return nil, err
	}
	if b.Payload != inlined {
		return nil, lacks("parcels have room for %d bytes", inlined)
	}
	queue := make(chan parcel, bound)
	var receivers sync.WaitGroup
	return &subject{
		settings: []string{
			fmt.Sprintf("capacity=%d", bound), fmt.Sprintf("element=%d bytes, the body in it", unsafe.Sizeof(parcel{})),
			"acknowledgement=none",
		},
		start: func(context.Context) error {
			for range b.Consumers {
				lane := b.lane()
				receivers.Go(func() {
					body := make([]byte, inlined)
					for p := range queue {
						copy(body, p.body[:])
						lane.Note(numberOf(body))
					}
				})
			}
			return nil
		},
		feed: func(context.Context) error {
			body := make([]byte, inlined)
			for id := range uint32(b.Messages) {
				number(body, id)
				var p parcel
				copy(p.body[:], body)
				queue <- p
			}
			return nil
		},
		stop: func() error {
			close(queue)
			receivers.Wait()
			return nil
		},
	}, nil
}

// openBareChannel is a Go channel of slice headers: the floor. Its messages share one body and have no number, so that
// they are counted and not told apart.
func openBareChannel(_ context.Context, b *bed) (*subject, error) {
	if err := onlyLive(b.Options, "a corpus in a channel needs a channel of its size"); err != nil {
		return nil, err
	}
	queue := make(chan []byte, bound)
	var receivers sync.WaitGroup
	var all atomic.Int64
	return &subject{
		settings: []string{
			fmt.Sprintf("capacity=%d", bound), "element=a slice header", "body=shared, not copied", "number=none",
			"acknowledgement=none",
		},
		start: func(context.Context) error {
			for range b.Consumers {
				receivers.Go(func() {
					n := int64(0)
					for range queue {
						n++
					}
					all.Add(n)
				})
			}
			return nil
		},
		feed: func(context.Context) error {
			body := make([]byte, b.Payload)
			for range b.Messages {
				queue <- body
			}
			return nil
		},
		stop: func() error {
			close(queue)
			receivers.Wait()
			return nil
		},
		counted: all.Load,
	}, nil
}
