// Package demo is an orders service on the broker inside the process. Each order goes to three groups: payment, whose bank
// is busy now and then so that orders are retried; stock, which rejects what is not in the warehouse; and report, which
// sums up sales in batches. What a group gives up goes to the dead letters, where the service counts it.
//
//	orders ─┬─► payment   one by one, retried ─┐
//	        ├─► stock     one by one, rejects ─┼─► orders.dlq ─► dead letters
//	        └─► report    in batches ──────────┘
//
// A ledger that knows nothing of the engine says at the end whether anything was lost.
package demo
