package wherry

import "context"

// Next takes a message the rest of the way: the middleware after this one, and at the end the handler.
type Next func(ctx context.Context, m AnyMessage) Outcome

// A Middleware wraps the way of every message of a consumer. It is called once for each lane when its worker starts,
// never per message; what lanes should share, it shares through variables of its own. Of several, the first listed is the
// outermost: it sees a message first and its outcome last. The one it returns must pass the message it was given, must
// not return before next does, and may call next more than once or not at all.
//
//	Use(a, b):   a ─► b ─► handler
//	             a ◄─ b ◄─┘
type Middleware func(next Next) Next

// BatchNext takes a batch the rest of the way. The outcome is that of every message which was not set by Set. Each call begins
// anew: what was set further in by the call before is forgotten for the messages that are in the batch still, and what the
// middleware set itself stands. With no message left it calls nothing and returns [Ack].
type BatchNext func(ctx context.Context, b AnyBatch) Outcome

// A BatchMiddleware is to batches what [Middleware] is to messages, by the same rules.
type BatchMiddleware func(next BatchNext) BatchNext
