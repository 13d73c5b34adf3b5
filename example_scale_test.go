package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// More workers while much waits, and fewer again when it does not. The times are short, for an example.
func ExampleWorkersBetween() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	for range 100 {
		if err := publisher.Publish(ctx, new("job")); err != nil {
			panic(err)
		}
	}
	release := make(chan struct{})
	worker := wherry.Consume(wherry.Queue(broker, jobs), func(context.Context, *wherry.Message[string]) wherry.Outcome {
		<-release
		return wherry.Ack()
	}, wherry.Prefetch(10),
		wherry.WorkersBetween(1, 2, wherry.ScaleEvery(time.Millisecond), wherry.ScaleAfter(0), wherry.ScaleCooldown(0)),
		wherry.OnEvent(func(e wherry.Event) {
			if e, ok := e.(*wherry.Scaled); ok && e.To == 2 {
				fmt.Println(e.From, "to", e.To)
				close(release)
				stop()
			}
		}))
	if err := worker.Run(ctx); err != nil {
		panic(err)
	}
	fmt.Println("between", worker.Health().MinWorkers, "and", worker.Health().MaxWorkers)
	// Output:
	// 1 to 2
	// between 1 and 2
}

// nightly wants at least four workers in the hours in which the reports come, whatever waits.
type nightly struct{ wherry.BacklogScaler }

func (n nightly) Scale(s wherry.ScaleSnapshot) int {
	want := n.BacklogScaler.Scale(s)
	if time.Now().Hour() < 5 {
		want = max(want, 4)
	}
	return want
}

// A strategy of one's own around the one that comes with the toolkit.
func ExampleScaleBy() {
	broker := mem.New(mem.Config{})
	reports := wherry.NewTopic("reports", codec.Text{})
	worker := wherry.Consume(wherry.Queue(broker, reports),
		wherry.Func(func(context.Context, string) error { return nil }),
		wherry.WorkersBetween(1, 8, wherry.ScaleBy(nightly{})))
	h := worker.Health()
	fmt.Println(h.MinWorkers, "to", h.MaxWorkers)
	// Output: 1 to 8
}

// The strategy can be asked without a consumer.
func ExampleBacklogScaler() {
	by := wherry.BacklogScaler{Oldest: time.Minute}
	s := wherry.ScaleSnapshot{Workers: 3, Least: 1, Most: 20, PerWorker: 32}
	for _, ready := range []int64{0, 100, 200, 320, 5000} {
		s.Ready = ready
		fmt.Println(ready, "ready:", by.Scale(s))
	}
	s.Ready, s.Oldest = 100, 90*time.Second
	fmt.Println(s.Ready, "ready, the oldest for", s.Oldest, "already:", by.Scale(s))
	// Output:
	// 0 ready: 2
	// 100 ready: 3
	// 200 ready: 4
	// 320 ready: 5
	// 5000 ready: 6
	// 100 ready, the oldest for 1m30s already: 5
}
