package drivertest_test

import (
	"fmt"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/drivertest"
)

// A run of three messages: one is handled, one comes twice, and one is not seen again after its connection was lost.
func ExampleLedger() {
	var l drivertest.Ledger
	for _, id := range []string{"a", "b", "c"} {
		l.Sending(id, "key")
		l.Sent(id, nil)
	}
	for _, id := range []string{"a", "b", "b"} {
		l.Seen("billing", id)
		l.Settled("billing", id)
	}
	l.Seen("billing", "c")
	fmt.Println(l.Report("billing"))
	// Output: 3 sent, 3 seen, 2 settled; 1 lost, as ["c"]; 1 duplicated, as ["b"]
}

// A backend's own case: it is run with the suite's, when the broker has what it needs.
func ExampleCase() {
	own := drivertest.Case{
		Name:     "acme/name",
		Sentence: "A sender opens on a topic whose name has a dot in it.",
		Needs:    []drivertest.Ability{drivertest.Queue},
		Run: func(t *drivertest.T) {
			topic := driver.Topic{Name: t.Topic() + ".dot"}
			s, err := t.Broker().OpenSender(t.Context(), driver.Target{Topic: topic})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		},
	}
	fmt.Println(own.Applies([]drivertest.Ability{drivertest.Queue, drivertest.Group}))
	// Output: true
}

// A broker in process that can be reached by foreign programs, and has nothing else to offer.
func ExampleLacksInProcess() {
	lacks := drivertest.LacksInProcess()
	delete(lacks, drivertest.HookInject)
	fmt.Println(lacks[drivertest.HookCut])
	fmt.Println(lacks[drivertest.HookRestart])
	// Output:
	// the broker lives in this process: there is no connection to cut
	// the broker lives in this process, and ends with it
}
