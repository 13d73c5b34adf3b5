package charts

import (
	"fmt"
	"strconv"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// drains are Wherry's rows of the matrix that drain a corpus into a handler that does nothing.
func drains(d *document.Document, b *document.Backend) selection {
	return pick(d, b, b.Matrix, func(r *document.Row) bool {
		return r.Subject == matrix.Wherry && r.Method == document.Drain && r.Handler == matrix.Zero
	})
}

// throughputByConsumers has a chart for each payload.
func throughputByConsumers(d *document.Document, b *document.Backend) []Figure {
	var figures []Figure
	consuming := drains(d, b).where(func(r *document.Row) bool { return !publishes(r) })
	for _, s := range by(consuming, func(r *document.Row) int { return r.Payload }) {
		bytes := s.rows[0].Payload
		turned := turning(s, byConsumers)
		figures = append(figures, turned.rates("consumers", b.Name+"-consumers-"+strconv.Itoa(bytes),
			fmt.Sprintf("%s: throughput by number of consumers, %s", b.Name, quantity.Size(float64(bytes))), byConsumers))
	}
	return orRefusal(figures, "consumers", b.Name+": throughput by number of consumers",
		"The document has no drain with a handler that does nothing.")
}

// publishes reports whether a row is of a flow without consumers.
func publishes(r *document.Row) bool {
	return r.Flow == matrix.Publish || r.Flow == matrix.PublishBatch
}

// throughputByPublishers has one chart of the flows without consumers.
func throughputByPublishers(d *document.Document, b *document.Backend) []Figure {
	s := turning(drains(d, b).where(publishes), byPublishers)
	if len(s.rows) == 0 {
		return refusal1("publish", b.Name+"-publish", b.Name+": publishing", "The document has no rows that only publish.")
	}
	return []Figure{s.rates("publish", b.Name+"-publish", b.Name+": publishing, one at a time and many at once", byPublishers)}
}

// throughputByPayload has one chart, at four consumers, or at as many as were measured.
func throughputByPayload(d *document.Document, b *document.Backend) []Figure {
	all := drains(d, b)
	many := 0
	for _, n := range all.distinct(func(r *document.Row) int { return r.Consumers }) {
		if n <= 4 {
			many = n
		}
	}
	s := turning(all.where(func(r *document.Row) bool { return r.Consumers == many && !publishes(r) }), byPayload)
	if len(s.rows) == 0 {
		return refusal1("payload", b.Name+"-payload", b.Name+": throughput by payload",
			"The document has no drain of several payloads with a handler that does nothing.")
	}
	return []Figure{s.rates("payload", b.Name+"-payload", b.Name+": throughput by payload", byPayload)}
}

// throughputByPrefetch has a line for each handler and each round trip.
func throughputByPrefetch(d *document.Document, b *document.Backend) []Figure {
	s := pick(d, b, b.Levers, func(r *document.Row) bool { return r.Subject == matrix.Wherry && r.Prefetch > 0 })
	s = turning(s, byPrefetch)
	if len(s.rows) == 0 {
		return refusal1("prefetch", b.Name+"-prefetch", b.Name+": throughput by prefetch",
			"The document has no lever rows of the prefetch.")
	}
	return []Figure{s.rates("prefetch", b.Name+"-prefetch", b.Name+": throughput by prefetch", byPrefetch)}
}

// throughputByHandler has a chart of the drains whose handlers do something.
func throughputByHandler(d *document.Document, b *document.Backend) []Figure {
	s := turning(pick(d, b, b.Matrix, func(r *document.Row) bool {
		return r.Subject == matrix.Wherry && r.Method == document.Drain && r.Handler != matrix.Zero
	}), byConsumers)
	name, title := b.Name+"-handlers", b.Name+": throughput of handlers that do something"
	if len(s.rows) == 0 {
		return refusal1("handlers", name, title, "The document has no drain with a handler that does something.")
	}
	return []Figure{s.rates("handlers", name, title, byConsumers)}
}

// workersByConcurrency compares how the same number of handlers is spread.
func workersByConcurrency(d *document.Document, b *document.Backend) []Figure {
	s := pick(d, b, b.Levers, func(r *document.Row) bool {
		return r.Subject == matrix.Wherry && r.Workers > 0 && r.Prefetch == 0
	})
	name, title := b.Name+"-workers", b.Name+": workers and concurrency"
	if len(s.rows) == 0 {
		return refusal1("workers", name, title, "The document has no lever rows of workers and concurrency.")
	}
	return []Figure{s.levels("workers", name, title, func(c *document.Cell) string {
		return fmt.Sprintf("%s × %d", quantity.Count(c.Workers, "worker"), c.Consumers/c.Workers)
	})}
}

// turning keeps the rows of those series that have more than one place on the lever.
func turning(s selection, l lever) selection {
	fields := make([]field, 0, fieldCount)
	for f := range fieldCount {
		if f != l.field {
			fields = append(fields, f)
		}
	}
	several := map[string]bool{}
	for _, group := range by(s, func(r *document.Row) string { return label(&r.Cell, fields) }) {
		places := group.distinct(func(r *document.Row) int { return l.of(&r.Cell) })
		several[label(&group.rows[0].Cell, fields)] = len(places) > 1
	}
	return s.where(func(r *document.Row) bool { return several[label(&r.Cell, fields)] })
}
