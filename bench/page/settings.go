package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// A setup is rows of one subject that were set alike, but for numbers.
type setup struct {
	rows []*document.Row
}

// settings are those of every subject of the peers, with the cells that they are of. Rows of one work that differ in numbers
// alone, such as the capacity that holds a corpus, share a line.
func settings(d *document.Document) string {
	var order []string
	setups := map[string]*setup{}
	for _, p := range parts(d) {
		if p.name != document.PeersPart {
			continue
		}
		for i := range p.Rows {
			r := &p.Rows[i]
			if len(r.Settings) == 0 {
				continue
			}
			key := strings.Join(append([]string{r.Subject, string(r.Method), r.Flow}, wordsOf(r.Settings)...), "\n")
			if setups[key] == nil {
				setups[key] = new(setup)
				order = append(order, key)
			}
			setups[key].rows = append(setups[key].rows, r)
		}
	}
	t := charts.Table{Head: []string{"subject", "cells", "settings"}, Words: true}
	for _, key := range order {
		s := setups[key]
		t.Rows = append(t.Rows, []string{charts.Subject(s.rows[0].Subject), s.cells(), s.settings()})
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return "The settings of each. Where cells differ in a number, it is from the lowest to the highest:\n\n" + markdown(&t) + "\n"
}

// numberOf is the number that a setting has, which is of the form name=number.
func numberOf(setting string) (name string, n int, ok bool) {
	name, text, _ := strings.Cut(setting, "=")
	n, err := strconv.Atoi(text)
	return name, n, err == nil
}

// wordsOf are settings without their numbers.
func wordsOf(settings []string) []string {
	words := make([]string, 0, len(settings))
	for _, s := range settings {
		if name, _, ok := numberOf(s); ok {
			s = name
		}
		words = append(words, s)
	}
	return words
}

// settings are those of all rows, with the range of each number.
func (s *setup) settings() string {
	words := slices.Clone(s.rows[0].Settings)
	for i := range words {
		name, low, ok := numberOf(words[i])
		if !ok {
			continue
		}
		high := low
		for _, r := range s.rows {
			if _, n, ok := numberOf(r.Settings[i]); ok {
				low, high = min(low, n), max(high, n)
			}
		}
		words[i] = fmt.Sprintf("%s=%d", name, low)
		if high > low {
			words[i] += fmt.Sprintf(" to %d", high)
		}
	}
	return strings.Join(words, ", ")
}

// cells says what was measured so.
func (s *setup) cells() string {
	payloads := s.values(func(r *document.Row) string { return quantity.Size(float64(r.Payload)) })
	consumers := s.values(func(r *document.Row) string { return strconv.Itoa(r.Consumers) })
	procs := s.values(func(r *document.Row) string { return strconv.Itoa(r.Procs) })
	first := s.rows[0]
	text := fmt.Sprintf("%s, %s, %s, consumers %s, processors %s", first.Method, first.Flow, payloads, consumers, procs)
	if first.Rate > 0 {
		text += ", at " + s.values(func(r *document.Row) string { return quantity.Rate(float64(r.Rate)) + "/s" })
	}
	return text
}

func (s *setup) values(of func(*document.Row) string) string {
	var all []string
	for _, r := range s.rows {
		if v := of(r); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}
