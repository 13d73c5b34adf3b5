package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A RefusedError is why a part cannot be merged into a document. Its text says what differs, and what to do.
type RefusedError struct {
	Differences []Difference
}

// A Difference is a fact in which a document and what was to be merged into it differ.
type Difference struct {
	Fact     string // "CPU", "kernel", "Go version"
	Document string // as the document has it
	New      string // as the new part has it
	Where    string // what of the document has it: "the host", or "mem/matrix"
}

// Error has a line for each difference.
func (r *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("these results do not belong into this document, which holds those of one host, one Go version, one version" +
		" of wherry and one set of build flags:")
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "\n  %s: %s, and %s of the document has %s", d.Fact, d.New, d.Where, d.Document)
	}
	b.WriteString("\nwrite them to another file, or measure everything anew into a fresh document (--fresh)")
	return b.String()
}

func (r *RefusedError) compare(where, fact, old, fresh string) {
	same := func(d Difference) bool { return d.Fact == fact && d.Document == old && d.New == fresh }
	if old != fresh && !slices.ContainsFunc(r.Differences, same) {
		r.Differences = append(r.Differences, Difference{fact, old, fresh, where})
	}
}

// New is a document of a host without results.
func New(host Host) *Document {
	d := &Document{Host: host}
	d.Derive()
	return d
}

// Merge puts a part in the place of the one of that backend and name, if there is one, and derives what follows. The host
// is the one that the part was measured on. If it, or what the part was built from and with, is not that of the document,
// the error is a [RefusedError] and the document is as it was. The part that is replaced counts as well: with another Go
// version everything is measured anew. The document keeps the part.
func (d *Document) Merge(host Host, backend, name string, part *Part) error {
	if err := d.Mergeable(host, part.Provenance); err != nil {
		return err
	}
	if !slices.Contains(PartNames(), name) {
		return fmt.Errorf("there is no part %q, only %s", name, list(PartNames()))
	}
	b := d.Backend(backend)
	if b == nil {
		d.Backends = append(d.Backends, Backend{Name: backend})
		b = &d.Backends[len(d.Backends)-1]
	}
	*b.slot(name) = part
	d.Derive()
	return nil
}

// Mergeable is the error that Merge would return for a part of that provenance: it can be asked before anything is
// measured.
func (d *Document) Mergeable(host Host, provenance Provenance) error {
	var r RefusedError
	for _, fact := range host.identity() {
		for _, old := range d.Host.identity() {
			if old.name == fact.name {
				r.compare("the host", fact.name, old.value, fact.value)
			}
		}
	}
	for i := range d.Backends {
		b := &d.Backends[i]
		for _, p := range b.parts() {
			where := b.Name + "/" + p.name
			r.compare(where, "Go version", p.Provenance.Go, provenance.Go)
			r.compare(where, "wherry version", p.Provenance.Version, provenance.Version)
			r.compare(where, "build flags", p.Provenance.BuildFlags, provenance.BuildFlags)
			r.compare(where, "length of the runs", length(p.Provenance.Quick), length(provenance.Quick))
		}
	}
	if len(r.Differences) == 0 {
		return nil
	}
	return &r
}

// length tells short runs, whose figures are no results, from those that are.
func length(quick bool) string {
	if quick {
		return "quick"
	}
	return "full"
}

type fact struct{ name, value string }

// identity are the facts that make a host another one.
func (h *Host) identity() []fact {
	return []fact{
		{"CPU", h.CPU},
		{"architecture", h.Architecture},
		{"physical cores", strconv.Itoa(h.PhysicalCores)},
		{"logical cores", strconv.Itoa(h.LogicalCores)},
		{"memory", fmt.Sprintf("%d bytes", h.MemoryBytes)},
		{"OS", h.OS},
		{"kernel", h.Kernel},
	}
}

// SameHost is the error, a [RefusedError], that says in which facts two hosts differ, or nil.
func SameHost(a, b Host) error {
	d := Document{Host: a}
	return d.Mergeable(b, Provenance{})
}
