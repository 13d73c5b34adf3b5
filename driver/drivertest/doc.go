// Package drivertest is the contract of package driver as a suite of cases, for whoever writes a backend.
//
//	func TestConformance(t *testing.T) {
//		drivertest.Run(t, drivertest.Harness{
//			Open: func(tb testing.TB) driver.Broker {
//				b, err := acme.Dial(tb.Context(), acme.Config{Address: address})
//				if err != nil {
//					tb.Fatal(err)
//				}
//				return b
//			},
//		})
//	}
//
// # Cases
//
// A [Case] is one clause of the contract. Its sentence states the clause and is printed when the case fails. Which cases a
// broker has follows from its abilities, and these are found in the method sets of the broker, of its senders and of its
// receivers, never from flags. Cases that hold for several ways to receive run once for each, with its name in front:
// "queue/settle/done", "group/settle/done". [RunCase] runs one by its name, and a backend gives cases of its own to [Run].
//
// # What the suite watches
//
// Every record is overwritten as soon as Send returns, and every delivery is compared, until it is settled, with what it
// was when it came, also after its receiver was closed or its tenure ended: who keeps or reuses memory is found by
// whatever case happens to run. So is a delivery whose token was used before, a Receive that returns more than it was
// asked for, an error that does not say what became of a record, and a goroutine that outlives its broker.
//
// # Faults
//
// Cases about faults use the hooks of the [Harness]. A hook that a backend cannot offer is named in Lacks with the reason,
// which is printed; without that the case fails. Nothing is skipped in silence.
//
// # The engine on a broker
//
// The cases named "engine/…" run the engine over the driver, as a service does: attempts, dead letters, redrives, stops.
// They hold on every broker, since what differs between brokers ends at the driver.
//
// # Ledger and benchmarks
//
// A [Ledger] keeps the account of a run of its own, id by id. [Bench] measures the driver's calls.
package drivertest
