// Package middleware has the middleware that most services want: what a panic becomes, deadlines, rates, limits shared by
// consumers, limits that find themselves, a circuit breaker, de-duplication, an audit trail and a log.
//
//	wherry.Consume(wherry.Queue(broker, orders), charge,
//		middleware.Log(logger, slog.LevelDebug),
//		middleware.Dedup(marks, middleware.DedupConfig{}),
//		middleware.Throttle(middleware.Rate{Messages: 100}),
//		middleware.Timeout(5*time.Second),
//	)
//
// # Options
//
// Each is an option of the consumer, and its type says which shape of handler it fits: a [wherry.ConsumerOption] fits
// single messages and batches. What is wrong with its arguments is reported when the consumer starts, together with what
// is wrong elsewhere. Retries, dead letters and the number of attempts are no middleware: they are the one
// [wherry.RetryPolicy] of the consumer, whatever is listed in whatever order.
//
// # Order
//
// The first listed is the outermost, as with [wherry.Use] and [wherry.UseBatch], between which these may stand. What is
// outside sees a message first and its outcome last:
//
//	Consume(s, h, a, b):   a ─► b ─► h
//	                       a ◄─ b ◄─┘
//
// # Sharing
//
// A value that was made once is one thing: the lanes and workers of its consumer share its rate, its slots, its state. Given
// to several consumers, it is shared by these too. All of them may be used by any number of goroutines.
//
// # Waiting
//
// [Throttle], [Limit], an [AdaptiveLimit] and a [Breaker] let a message wait in its lane, within its context: the handler timeout counts from
// when the lane took it. A message whose context ends while it waits has not failed, since its handler never saw it. It is
// deferred, which counts no attempt, or goes back to the broker if the consumer stops or loses it. A value that messages wait
// on belongs to the testing/synctest bubble it is made in: make it inside.
package middleware
