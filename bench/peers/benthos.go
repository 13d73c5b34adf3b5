package main

import (
	"context"
	"errors"
	"fmt"

	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // Streams, brokers and buffers are plugins.
	"github.com/redpanda-data/benthos/v4/public/service"
)

// openBenthos is a stream of benthos: a producer function, a buffer in memory, a processor in Go, and an output that drops
// what was handled. Without the buffer a producer has one message on its way and waits until it was handled. The buffer
// makes a queue of it, which loses what it holds with the process, as every queue of this comparison does.
func openBenthos(ctx context.Context, b *bed) (*subject, error) {
	if err := onlyLive(b.Options, "a stream has its producer and its handler, and holds no corpus before it runs"); err != nil {
		return nil, err
	}
	env := service.NewEnvironment()
	lanes := newPool(b, b.Consumers)
	err := env.RegisterProcessor("bench", service.NewConfigSpec(),
		func(*service.ParsedConfig, *service.Resources) (service.Processor, error) {
			return benthosHandler{lanes}, nil
		})
	if err != nil {
		return nil, err
	}
	builder := env.NewStreamBuilder()
	builder.DisableLinting()
	builder.SetThreads(b.Consumers)
	produce, err := builder.AddProducerFunc()
	// A message is counted with its bytes alone, so the limit holds as many messages as every other queue.
	limit := bound * b.Payload
	err = errors.Join(err,
		builder.SetLoggerYAML("level: NONE"),
		builder.SetMetricsYAML("none: {}"),
		builder.SetBufferYAML(fmt.Sprintf("memory: {limit: %d}", limit)),
		builder.AddProcessorYAML("bench: {}"),
		builder.AddOutputYAML("drop: {}"),
	)
	if err != nil {
		return nil, err
	}
	stream, err := builder.Build()
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	return &subject{
		settings: []string{
			"benthos=" + version("github.com/redpanda-data/benthos/v4"), fmt.Sprintf("buffer=memory, %d bytes", limit),
			fmt.Sprintf("threads=%d", b.Consumers), "input=producer function", "output=drop", "metrics=none",
			fmt.Sprintf("body=%d bytes, allocated", b.Payload),
		},
		start: func(context.Context) error {
			go func() { ended <- stream.Run(ctx) }()
			return nil
		},
		feed: func(ctx context.Context) error {
			for id := range uint32(b.Messages) {
				if err := produce(ctx, service.NewMessage(numbered(b.Payload, id))); err != nil {
					return err
				}
			}
			return nil
		},
		stop: func() error {
			if err := stream.StopWithin(stalled); err != nil {
				return err
			}
			return <-ended
		},
	}, nil
}

// A benthosHandler is the handler as a processor.
type benthosHandler struct{ lanes *pool }

// Process notes the message and passes it on to the output, which acknowledges it.
func (h benthosHandler) Process(_ context.Context, m *service.Message) (service.MessageBatch, error) {
	body, err := m.AsBytes()
	if err != nil {
		return nil, err
	}
	h.lanes.note(numberOf(body))
	return service.MessageBatch{m}, nil
}

// Close has nothing to do.
func (benthosHandler) Close(context.Context) error { return nil }
