package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

type row struct {
	ID   int
	Name string
}

type table struct{ rows []row }

// insert inserts rows, and says for each that was refused why.
func (t *table) insert(_ context.Context, rows []row) (refused map[int]error, err error) {
	for i, r := range rows {
		if r.Name == "" {
			refused = map[int]error{i: fmt.Errorf("row %d has no name", r.ID)}
			continue
		}
		t.rows = append(t.rows, r)
	}
	return refused, nil
}

// docs/batches.md shows parts of this.
func Example_docsBatches() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	topic := wherry.NewTopic("rows", codec.JSON[row]{})
	publisher, err := wherry.NewPublisher(ctx, broker, topic)
	if err != nil {
		panic(err)
	}
	for _, r := range []row{{1, "one"}, {2, ""}, {3, "three"}} {
		if err := publisher.Publish(ctx, &r); err != nil {
			panic(err)
		}
	}
	db := &table{}

	store := func(ctx context.Context, b *wherry.MessageBatch[row]) wherry.Outcome {
		rows := make([]row, 0, b.Len())
		for r := range b.Values() {
			rows = append(rows, r)
		}
		refused, err := db.insert(ctx, rows)
		if err != nil {
			return wherry.Retry(err) // all of them
		}
		for i, err := range refused {
			b.Set(i, wherry.Reject(err)) // this one
		}
		return wherry.Ack() // all others
	}

	consumer := wherry.ConsumeBatch(wherry.Queue(broker, topic), store,
		wherry.BatchSize(200), wherry.BatchAge(100*time.Millisecond))

	dead := wherry.Consume(wherry.Queue(broker, wherry.DeadLetters(topic)),
		func(_ context.Context, m *wherry.Message[wherry.DeadLetter[row]]) wherry.Outcome {
			fmt.Println("dead:", m.Value.LastError)
			stop()
			return wherry.Ack()
		})
	if err := wherry.Run(ctx, consumer, dead); err != nil {
		panic(err)
	}
	fmt.Println("stored:", db.rows)
	// Output:
	// dead: row 2 has no name
	// stored: [{1 one} {3 three}]
}
