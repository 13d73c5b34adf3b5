package document

import (
	"reflect"
	"strings"
	"time"
)

// Unknown stands where something cannot be known.
const Unknown = "unknown"

// Validate looks for everything that is wrong with a document: what cannot be, what does not follow from the values that
// it is derived from, and facts that are not what they were when they were measured. The error is an
// [InvalidError], or nil.
func (d *Document) Validate() error {
	var v validator
	v.document(d)
	v.derived(d)
	return v.err()
}

// A validator collects faults. Each of its methods looks at the value that stands at a path.
type validator struct{ faults }

func (v *validator) document(d *Document) {
	if d.Schema != Schema {
		v.addf("schema", "is %d, and this program knows %d alone", d.Schema, Schema)
	}
	v.host(&d.Host, "host")
	for i := range d.Backends {
		b := &d.Backends[i]
		path := index("backends", i)
		v.filled(b.Name, path+".name")
		for j := range i {
			if d.Backends[j].Name == b.Name {
				v.addf(path+".name", "is %q, as is %s", b.Name, index("backends", j)+".name")
			}
		}
		if i > 0 && d.Backends[i-1].Name > b.Name {
			v.addf(path+".name", "is %q, which belongs before %q", b.Name, d.Backends[i-1].Name)
		}
		parts := b.parts()
		if len(parts) == 0 {
			v.addf(path, "has no part")
		}
		for _, part := range parts {
			v.part(part.Part, join(path, part.name))
		}
	}
}

func (v *validator) host(h *Host, path string) {
	v.known(h.CPU, path+".cpu")
	v.known(h.OS, path+".os")
	v.strings(reflect.ValueOf(*h), path)
	v.atLeast(0, int64(h.FrequencyMHz), path+".frequency_mhz")
	v.atLeast(0, int64(h.PhysicalCores), path+".physical_cores")
	v.atLeast(1, int64(h.LogicalCores), path+".logical_cores")
	v.atLeast(0, h.MemoryBytes, path+".memory_bytes")
	v.seal(h.facts(), path, h.Seal)
}

func (v *validator) part(p *Part, path string) {
	v.provenance(&p.Provenance, path+".provenance")
	seen := map[Cell]int{}
	for i := range p.Rows {
		row := index(path+".rows", i)
		if first, ok := seen[p.Rows[i].Cell]; ok {
			v.addf(row, "is of the same cell as rows[%d]: %s", first, p.Rows[i].Cell)
		} else {
			seen[p.Rows[i].Cell] = i
		}
		v.row(&p.Rows[i], row, p.Provenance.Quick)
	}
	for i := range p.Ratios {
		v.ratio(p, &p.Ratios[i], index(path+".ratios", i))
	}
	v.seal(p.facts(), path, p.Seal)
}

func (v *validator) ratio(p *Part, r *Ratio, path string) {
	of, to := p.Row(r.Of), p.Row(r.To)
	if of == nil {
		v.addf(path+".of", "is no row of the part: %s", r.Of)
	}
	if to == nil {
		v.addf(path+".to", "is no row of the part: %s", r.To)
	}
	if of != nil && to != nil && of.Method != to.Method {
		v.addf(path, "compares a row by the method %q with one by %q", of.Method, to.Method)
	}
	v.atLeast(1, int64(r.Rounds), path+".rounds")
}

func (v *validator) provenance(p *Provenance, path string) {
	v.known(p.Go, path+".go")
	v.strings(reflect.ValueOf(*p), path)
	if _, err := time.Parse(time.RFC3339, p.Date); err != nil {
		v.addf(path+".date", "is %q, want a time by RFC 3339", p.Date)
	}
	v.atLeast(1, int64(p.GOMAXPROCS), path+".gomaxprocs")
	v.atLeast(0, p.RoundTripNS, path+".round_trip_ns")
}

// filled refuses a text that is empty.
func (v *validator) filled(s, path string) {
	if s == "" {
		v.addf(path, "is empty")
	}
}

// known refuses a text that says nothing.
func (v *validator) known(s, path string) {
	if s == Unknown {
		v.addf(path, "is %q, and has to be known", s)
	}
}

// strings refuses every text of a struct that is empty.
func (v *validator) strings(s reflect.Value, path string) {
	for _, f := range fields(s.Type()) {
		if value := s.FieldByIndex(f.index); value.Kind() == reflect.String && value.Len() == 0 && !f.optional {
			v.addf(join(path, f.name), "is empty; what cannot be known is %q", Unknown)
		}
	}
}

func (v *validator) atLeast(least, n int64, path string) {
	if n < least {
		v.addf(path, "is %d, want at least %d", n, least)
	}
}

func (v *validator) seal(facts any, path, stored string) {
	n, err := tree(facts)
	if err != nil {
		v.addf(path, "cannot be sealed: %v", err)
		return
	}
	broken(n, path, stored, &v.faults)
}

// list is the values that are allowed, as a sentence has them.
func list[T ~string](values []T) string {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, string(value))
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
