package main

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/drivertest"
)

func Example() {
	main()
	// Output:
	// do
	// re is out of tune
	// mi
	// re
}

func TestConformance(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, harness())
}

// harness is a server for each case, with a connection for each Open.
func harness() drivertest.Harness {
	lacks := drivertest.LacksInProcess()
	delete(lacks, drivertest.HookInject)
	return drivertest.Harness{
		Virtual: true,
		Setup: func(_ testing.TB, h *drivertest.Harness) {
			server := NewServer()
			h.Open = func(testing.TB) driver.Broker { return Dial(server) }
			h.Inject = func(_ testing.TB, t driver.Topic, r driver.Record) {
				server.mu.Lock()
				defer server.mu.Unlock()
				server.put(server.declare(t.Name), &message{key: r.Key, body: r.Body, headers: r.Headers})
			}
		},
		Lacks: lacks,
	}
}
