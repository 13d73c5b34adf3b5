package charts

import (
	"fmt"

	"github.com/wherryhq/wherry/bench/document"
)

// families are in the order of the page. Each draws its figures of one backend, or of all.
var families = []struct {
	Family
	of  func(*document.Document, *document.Backend) []Figure
	all func(*document.Document) []Figure
}{
	{Family: Family{
		"channel", "Against a Go channel",
		"The least that a program needs to hand messages from one goroutine to another. The channel carries a copy of each " +
			"body and feeds the same ledger. Wherry's rows have ids, attempts, timeout and watchdog on.",
	}, of: channel},
	{Family: Family{
		"peers", "Against other libraries",
		"The same bytes, the same handler and an acknowledgement of each message, each library in the best configuration " +
			"that keeps delivery at least once, run in turn within one run. Their settings stand in the document.",
	}, of: peers},
	{Family: Family{
		"consumers", "Throughput by consumers",
		"A corpus that was published before is drained. The handler does nothing, so this is the most that the engine can do.",
	}, of: throughputByConsumers},
	{Family: Family{
		"publish", "Publishing", "Into a queue without consumers: one message per call, and many per call.",
	}, of: throughputByPublishers},
	{Family: Family{
		"payload", "Throughput by payload", "The same drains, by the size of the payload.",
	}, of: throughputByPayload},
	{Family: Family{
		"handlers", "Handlers that do something",
		"Drains at one payload with handlers that sleep for some milliseconds (wait), for long (slow), spin (compute), or wait for " +
			"one of a few slots, as of a pool of connections (limited). The work of the handler sets the pace.",
	}, of: throughputByHandler},
	{Family: Family{
		"prefetch", "Throughput by prefetch",
		"The lever rows: how far a receiver reads ahead, with a handler that does nothing and one that sleeps, and with a " +
			"millisecond added to the round trip.",
	}, of: throughputByPrefetch},
	{Family: Family{
		"workers", "Workers and concurrency", "The lever rows of how the same handlers are spread over workers.",
	}, of: workersByConcurrency},
	{Family: Family{
		"batch", "Batches against single messages",
		"A batch saves work for each message and makes it wait for the others: the rate of the drains, and the wait at " +
			"rates that both sustain.",
	}, of: batchOrParallel},
	{Family: Family{
		"sequenced", "In the order of a key", "What it costs to keep the order of messages with the same key.",
	}, of: sequencedOrParallel},
	{Family: Family{
		"latency", "Dispatch latency",
		"An open loop: the times of the sends are fixed ahead, and latency is counted from the intended time, so that a stall " +
			"counts for all who wait for it. A rate is sustained when the producer reached 95 % of it and the lag stayed " +
			"below 5 %.",
	}, of: latencyByRate, all: dispatchLatency},
	{Family: Family{
		"cost", "Cost of each flow", "Nanoseconds that the framework takes for a message whose handler does nothing.",
	}, of: flowCost},
	{Family: Family{
		"code", "Code cost",
		"Instructions and allocations per message, counted under callgrind. They do not depend on what else the machine does.",
	}, of: codeCost},
	{Family: Family{
		"flows", "Flows of several steps", "A flow of three steps, by concurrency.",
	}, of: flowThroughput},
	{Family: Family{
		"overhead", "Cost over the raw client",
		"The same work by the client library alone, by the driver, and by a service, in turn over one connection.",
	}, of: overhead},
}

// Families are the questions that charts answer, in the order in which [Figures] has their figures.
func Families() []Family {
	list := make([]Family, 0, len(families))
	for _, f := range families {
		list = append(list, f.Family)
	}
	return list
}

// Figures are all charts of a document, in the order of their families. A family without data has a figure that says so.
func Figures(d *document.Document) []Figure {
	var figures []Figure
	for _, family := range families {
		before := len(figures)
		if family.all != nil {
			figures = append(figures, family.all(d)...)
		}
		for i := range d.Backends {
			figures = append(figures, family.of(d, &d.Backends[i])...)
		}
		if len(figures) == before {
			figures = append(figures, refusal1(family.Name, family.Name, family.Title, "The document has no backend.")...)
		}
	}
	distinguish(figures)
	return figures
}

// distinguish numbers figures whose names would be the same: their rows differ in something that names leave out.
func distinguish(figures []Figure) {
	seen := map[string]int{}
	for i := range figures {
		name := figures[i].Name
		if seen[name]++; seen[name] > 1 {
			figures[i].Name = fmt.Sprintf("%s-%d", name, seen[name])
		}
	}
}
