// Package wherrytest tests services that are built on wherry: it runs their consumers on a broker that counts, waits until
// everything that was published has been handled to its end, and says what became of each message.
//
//	func TestBilling(t *testing.T) {
//		tt := wherrytest.New(t)
//		orders := wherrytest.Probe(tt, shop.Orders)
//		billing, err := shop.NewBilling(t.Context(), tt.Broker(), paid)
//		if err != nil {
//			t.Fatal(err)
//		}
//		tt.Run(billing)
//
//		orders.Publish(shop.Order{ID: 1}, shop.Order{ID: 2})
//		tt.Quiesce()
//
//		orders.Expect(wherrytest.Counts{Published: 2, Handled: 1, Dead: 1})
//	}
//
// # Waiting
//
// Nothing here sleeps and nothing is asked again after a while. [Broker] stands between the engine and the real broker and
// sees every record that is sent and every delivery that is settled; [Test.Quiesce] returns when the books are even:
// nothing that a running consumer would receive is left, waiting retries included, and nothing is in hand. So a test is
// as fast as what it tests, and inside a testing/synctest bubble, where the clock is virtual, retries that wait for
// minutes take none. Everything here may be used inside a bubble and outside.
//
// # What is counted
//
// All that consumers can be: of queues and groups, sequences, broadcasts and transactions. In a sequence and in a broadcast what
// fails is tried again in the memory of its consumer, which no broker sees; the broker of a test is told by the engine. What a
// handler publishes in a transaction is published with the commit.
//
// # Brokers
//
// By default a test has an in-process broker of its own, which overwrites the memory of settled messages, so that a
// handler which keeps a body, or the value of a codec of views, reads rubbish and is found. [OnBroker] puts the same test
// on any other broker.
package wherrytest
