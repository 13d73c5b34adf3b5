// Package wherry is a toolkit for services that live on messages: typed topics and handlers, declared once and run on any
// of several brokers, with retries, dead letters, batches, draining and health as part of the engine.
//
// # A service
//
// A [Topic] ties a name to a type and a codec. A [Publisher] publishes to it, and [Consume] binds a [Source] of its
// messages to a [Handler]. [Run] opens everything, runs until its context ends, and then drains:
//
//	orders := wherry.NewTopic("orders", codec.JSON[Order]{})
//	broker := mem.New(mem.Config{})
//
//	billing := wherry.Consume(wherry.Queue(broker, orders), wherry.Func(
//		func(ctx context.Context, o Order) error { return charge(ctx, o) }))
//
//	err := wherry.Run(ctx, billing)
//
// # What is promised
//
// Nothing is lost by default: a message is settled after its handler's [Outcome] is known and, where it moves to a retry or
// to the dead letters, after the broker confirmed the copy. It may come twice. Attempts count failed handler calls and
// nothing else. Everything has a bound. A consumer that makes no progress while work waits says why in its [Health].
//
// # What belongs to whom
//
// A [Message] and its memory belong to the engine and are valid until the handler returns; Value may be kept as a copy,
// [Message.Clone] copies the rest. A handler's context is valid until it returns. Brokers and publishers belong to who
// opened them, and Run leaves them open.
//
// # Options
//
// The type of an option says where it fits: a [ConsumerOption] fits every shape of handler, a [BatchOption] batches only.
// Mistakes in declarations are not panics: they are collected and reported together when something is run or opened.
package wherry
