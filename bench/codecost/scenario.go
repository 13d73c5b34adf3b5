package codecost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
)

// A Scenario is something whose cost is counted.
type Scenario struct {
	// Name is short and unlike any other. It is the flow of the row's cell.
	Name string
	// Over is the scenario that it is compared with; empty is none.
	Over string
	// Missing says why it cannot be counted; empty is that it can.
	Missing string

	work       string // what it is to the program
	codec      string
	payload    int
	consumers  int
	workers    int
	middleware string
	times      int
}

// Cell is the cell of the scenario's row.
func (s Scenario) Cell() document.Cell {
	subject := "wherry"
	if strings.HasPrefix(s.work, "channel") {
		subject = "go-channel"
	}
	cell := document.Cell{
		Subject: subject, Flow: s.Name, Payload: s.payload, Consumers: s.consumers * s.workers, Handler: "zero", Codec: s.codec, Procs: 1,
	}
	if s.workers > 1 { // One is no lever.
		cell.Workers = s.workers
	}
	return cell
}

// args are the program's, without the number of messages.
func (s Scenario) args() []string {
	args := []string{
		"-scenario", s.work, "-codec", s.codec, "-consumers", strconv.Itoa(s.consumers), "-workers", strconv.Itoa(s.workers),
	}
	if s.middleware != "" {
		args = append(args, "-middleware", s.middleware, "-times", strconv.Itoa(s.times))
	}
	return args
}

// The codecs of scenarios.
const (
	bytesView = "bytesview"
	plainJSON = "json"
	fastJSON  = "fastjson"
)

func bytesScenario(name, work, over string) Scenario {
	return Scenario{Name: name, Over: over, work: work, codec: bytesView, payload: 64, consumers: 1, workers: 1, times: 1}
}

func jsonScenario(codec, name, work, over string) Scenario {
	return Scenario{Name: name, Over: over, work: work, codec: codec, payload: 128, consumers: 1, workers: 1, times: 1}
}

func (s Scenario) concurrent(consumers int) Scenario {
	s.consumers = consumers
	return s
}

func (s Scenario) through(middleware string, times int) Scenario {
	s.middleware, s.times = middleware, times
	return s
}

// Scenarios returns all of them, what others are compared with first.
func Scenarios() []Scenario {
	all := []Scenario{
		bytesScenario("channel", "channel", ""),
		bytesScenario("channel-bare", "channel-bare", ""),
		bytesScenario("hand", "hand", ""),
		bytesScenario("hand-drain", "hand-drain", ""),
		bytesScenario("live", "live", "channel"),
		bytesScenario("consume", "consume", "hand-drain"),
		bytesScenario("publish", "publish", "hand"),
		bytesScenario("publish-all", "publish-all", "publish"),
		bytesScenario("batch", "batch", "consume"),
		bytesScenario("sequence", "sequence", "consume"),
		bytesScenario("transaction", "transaction", "batch"),
		bytesScenario("reply", "reply", "consume"),
		bytesScenario("redelivery", "redelivery", "live"),
		bytesScenario("consume-4", "consume", "consume").concurrent(4),
	}
	for _, n := range []int{2, 4, 8, 32} {
		over := fmt.Sprint("channel-", n)
		all = append(all, bytesScenario(over, "channel", "").concurrent(n), bytesScenario(fmt.Sprint("live-", n), "live", over).concurrent(n))
	}
	workers := bytesScenario("live-workers-4", "live", "channel-4")
	workers.workers = 4
	all = append(all, workers)
	for _, n := range []int{1, 4} {
		all = append(all, bytesScenario(fmt.Sprint("middleware-", n), "consume", "consume").through("pass", n))
	}
	for _, m := range []string{"recover", "log", "log-on", "limit", "throttle", "breaker", "dedup", "audit", "timeout"} {
		all = append(all, bytesScenario("middleware-"+m, "consume", "consume").through(m, 1))
	}
	for _, c := range []string{plainJSON, fastJSON} {
		all = append(all,
			jsonScenario(c, "decode-"+c, "decode", ""),
			jsonScenario(c, "encode-"+c, "encode", ""),
			jsonScenario(c, "hand-"+c, "hand", ""),
			jsonScenario(c, "hand-drain-"+c, "hand-drain", ""),
			jsonScenario(c, "live-"+c, "live", "hand-"+c),
			jsonScenario(c, "consume-"+c, "consume", "hand-drain-"+c),
			jsonScenario(c, "consume-4-"+c, "consume", "consume-"+c).concurrent(4),
			jsonScenario(c, "batch-"+c, "batch", "consume-"+c),
		)
	}
	flow := bytesScenario("flow", "", "")
	flow.Missing = "flows are not there yet"
	return append(all, flow)
}

// find returns the scenarios with the given names, or all of them for none, in the order of [Scenarios].
func find(names []string) ([]Scenario, error) {
	if len(names) == 0 {
		return Scenarios(), nil
	}
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	var found []Scenario
	var known []string
	for _, s := range Scenarios() {
		known = append(known, s.Name)
		if wanted[s.Name] {
			found = append(found, s)
			delete(wanted, s.Name)
		}
	}
	for n := range wanted {
		return nil, fmt.Errorf("no scenario is called %q: want one of %s", n, strings.Join(known, ", "))
	}
	return found, nil
}
