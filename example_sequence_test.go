package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A move is what happened to an account.
type movement struct {
	Account string `json:"account"`
	Amount  int    `json:"amount"`
}

var movements = wherry.NewKeyedTopic("movements", codec.JSON[movement]{}, func(dst []byte, m *movement) []byte {
	return append(dst, m.Account...)
})

// publishMoves publishes movements of accounts, in this order.
func publishMoves(ctx context.Context, b *mem.Broker, t wherry.KeyedTopic[movement], all ...movement) error {
	p, err := wherry.NewPublisher(ctx, b, t)
	if err != nil {
		return err
	}
	for i := range all {
		if err := p.Publish(ctx, &all[i]); err != nil {
			return err
		}
	}
	return p.Close(ctx)
}

// Movements of one account are booked in order, one at a time; those of different accounts beside each other.
func ExampleSequence() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	if err := publishMoves(ctx, broker, movements, movement{"ada", 10}, movement{"ben", 7}, movement{"ada", -3}, movement{"ada", 5}); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	booked := map[string][]int{}
	left := 4
	book := wherry.Consume(wherry.Sequence(broker, movements), wherry.Func(func(_ context.Context, m movement) error {
		mu.Lock()
		defer mu.Unlock()
		booked[m.Account] = append(booked[m.Account], m.Amount)
		if left--; left == 0 {
			stop()
		}
		return nil
	}), wherry.Concurrency(8))
	if err := wherry.Run(ctx, book); err != nil {
		panic(err)
	}
	fmt.Println(booked["ada"], booked["ben"])
	// Output: [10 -3 5] [7]
}

// Each group of a fan-out has the order for itself.
func ExampleGroupSequence() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	topic := wherry.NewKeyedTopic("moves", codec.JSON[movement]{}, func(dst []byte, m *movement) []byte {
		return append(dst, m.Account...)
	}, wherry.Fanout("ledger"))
	if err := publishMoves(ctx, broker, topic, movement{"ada", 1}, movement{"ada", 2}); err != nil {
		panic(err)
	}
	err := wherry.Run(ctx, wherry.Consume(wherry.GroupSequence(broker, "ledger", topic), wherry.Func(
		func(_ context.Context, m movement) error {
			fmt.Println("ledger:", m.Amount)
			if m.Amount == 2 {
				stop()
			}
			return nil
		})))
	if err != nil {
		panic(err)
	}
	// Output:
	// ledger: 1
	// ledger: 2
}

// A key that is parked waits in the dead letters, and goes on once a redrive brought it back.
func ExampleOnFailure() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	if err := publishMoves(ctx, broker, movements, movement{"ada", -99}, movement{"ada", 1}, movement{"ben", 7}); err != nil {
		panic(err)
	}
	broken, parked := true, make(chan struct{}, 2)
	source := wherry.Sequence(broker, movements,
		wherry.OnFailure(wherry.Park), // set the key aside, in order
		wherry.WaitingAtMost(100, 1000, 1<<20))
	var mu sync.Mutex
	book := wherry.Consume(source, func(_ context.Context, m *wherry.Message[movement]) wherry.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if m.Value.Amount == -99 && broken {
			return wherry.Reject(errors.New("not enough money"))
		}
		fmt.Println(m.Value.Account, m.Value.Amount)
		if m.Value.Amount == 1 {
			stop()
		}
		return wherry.Ack()
	}, wherry.OnEvent(func(e wherry.Event) {
		if dead, ok := e.(*wherry.DeadLettered); ok {
			fmt.Println("set aside:", dead.Reason)
			parked <- struct{}{}
		}
	}))
	done := make(chan error, 1)
	go func() { done <- wherry.Run(ctx, book) }()
	<-parked
	<-parked
	mu.Lock()
	broken = false
	mu.Unlock()
	if _, err := wherry.Redrive(ctx, broker, movements); err != nil && ctx.Err() == nil {
		panic(err)
	}
	if err := <-done; err != nil {
		panic(err)
	}
	// Unordered output:
	// set aside: rejected
	// set aside: parked
	// ben 7
	// ada -99
	// ada 1
}

// What may wait for its key is bounded, and brokers that need shards are told how many.
func ExampleWaitingAtMost() {
	broker := mem.New(mem.Config{})
	source := wherry.Sequence(broker, movements,
		wherry.WaitingAtMost(64, 2048, 8<<20), // messages of a key, of all keys, and bytes of all, in each worker
		wherry.Shards(16))                     // for brokers that need them; the in-process one does not
	book := wherry.Consume(source, wherry.Func(func(context.Context, movement) error { return nil }))
	fmt.Println(book.Name())
	// Output: movements
}

// Shards is for brokers that order by shard. All consumers of a topic agree on it.
func ExampleShards() {
	broker := mem.New(mem.Config{})
	source := wherry.Sequence(broker, movements, wherry.Shards(16))
	fmt.Println(wherry.Consume(source, wherry.Func(func(context.Context, movement) error { return nil })).Name())
	// Output: movements
}
