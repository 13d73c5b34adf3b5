package demo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/wherryhq/wherry"
)

// sales is what the orders of each country come to. The zero sales is ready to use.
type sales struct {
	mu        sync.Mutex // guards the fields below
	byCountry map[string]int
	batches   int
}

// add is the handler of report. It takes the lock once for a whole batch.
func (s *sales) add(_ context.Context, b *wherry.MessageBatch[Order]) wherry.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byCountry == nil {
		s.byCountry = make(map[string]int)
	}
	s.batches++
	for o := range b.Values() {
		s.byCountry[countryOf(&o)] += o.Cents
	}
	return wherry.Ack()
}

// countryOf is the order's country as a key, of which there are few whatever the input says.
func countryOf(o *Order) string {
	if slices.Contains(countries, o.Country) {
		return o.Country
	}
	return "other"
}

// A sale is a country and its sum.
type sale struct {
	Country string
	Cents   int
}

// top returns the countries, the largest first, and the number of batches that they came in.
func (s *sales) top() (countries []sale, batches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, country := range slices.Sorted(maps.Keys(s.byCountry)) {
		countries = append(countries, sale{country, s.byCountry[country]})
	}
	slices.SortStableFunc(countries, func(a, b sale) int {
		if a.Cents != b.Cents {
			return b.Cents - a.Cents
		}
		return strings.Compare(a.Country, b.Country)
	})
	return countries, s.batches
}
