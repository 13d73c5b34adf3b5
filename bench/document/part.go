package document

import (
	"fmt"
	"slices"
	"strings"
)

// The names of the parts of a backend.
const (
	MatrixPart = "matrix"
	LeversPart = "levers"
	CodePart   = "code"
	PeersPart  = "peers"
	PairsPart  = "pairs"
)

// PartNames are the names of all parts, in the order of their fields.
func PartNames() []string { return []string{MatrixPart, LeversPart, CodePart, PeersPart, PairsPart} }

// Part is the part of that name, or nil where it was not measured or there is no such name.
func (b *Backend) Part(name string) *Part {
	if slot := b.slot(name); slot != nil {
		return *slot
	}
	return nil
}

func (b *Backend) slot(name string) **Part {
	switch name {
	case MatrixPart:
		return &b.Matrix
	case LeversPart:
		return &b.Levers
	case CodePart:
		return &b.Code
	case PeersPart:
		return &b.Peers
	case PairsPart:
		return &b.Pairs
	default:
		return nil
	}
}

// parts are the parts that were measured, by their names, in the order of the fields.
func (b *Backend) parts() []namedPart {
	var all []namedPart
	for _, name := range PartNames() {
		if part := b.Part(name); part != nil {
			all = append(all, namedPart{name, part})
		}
	}
	return all
}

type namedPart struct {
	name string
	*Part
}

// Backend is the backend of that name, or nil.
func (d *Document) Backend(name string) *Backend {
	i := slices.IndexFunc(d.Backends, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Backends[i]
}

// Row is the row of a cell, or nil where the part, which may be nil, has none.
func (p *Part) Row(cell Cell) *Row {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Cell == cell })
	if i < 0 {
		return nil
	}
	return &p.Rows[i]
}

// String names a cell in few words, as for a list of what is missing.
func (c Cell) String() string {
	words := []string{c.Subject, c.Scenario(), fmt.Sprintf("%d B", c.Payload)}
	number := func(n int, format string) {
		if n != 0 {
			words = append(words, fmt.Sprintf(format, n))
		}
	}
	number(c.Consumers, "consumers=%d")
	number(c.Workers, "workers=%d")
	number(c.Prefetch, "prefetch=%d")
	if c.Handler != "zero" {
		words = append(words, "handler="+c.Handler)
	}
	words = append(words, c.Codec)
	number(c.Rate, "%d/s")
	number(c.Procs, "procs=%d")
	return strings.Join(words, " ")
}
