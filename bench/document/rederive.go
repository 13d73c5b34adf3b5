package document

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// derived notes every value that does not follow from the others.
func (v *validator) derived(d *Document) {
	is, err := tree(d)
	if err != nil {
		v.addf("", "cannot be written: %v", err)
		return
	}
	again := new(Document)
	assign(is, reflect.ValueOf(again).Elem(), new(faults))
	for i := range again.Backends {
		for _, part := range again.Backends[i].parts() {
			part.derive()
		}
	}
	want, err := tree(again)
	if err != nil {
		v.addf("", "cannot be derived: %v", err)
		return
	}
	v.differences(is, want)
}

// differences notes where two values are not the same. Seals are looked at elsewhere.
func (v *validator) differences(is, want *node) {
	switch {
	case is.kind != want.kind:
		v.addf(is.path, "is %s, want %s", is.flat(), want.flat())
	case is.kind == object:
		for i, name := range is.names {
			if other := want.member(name); other == nil {
				v.addf(is.members[i].path, "is there, and nothing that it follows from")
			} else if name != "seal" {
				v.differences(is.members[i], other)
			}
		}
		for i, name := range want.names {
			if !slices.Contains(is.names, name) {
				v.addf(want.members[i].path, "is missing, want %s", want.members[i].flat())
			}
		}
	case is.kind == array:
		for i := range min(len(is.members), len(want.members)) {
			v.differences(is.members[i], want.members[i])
		}
	case !is.equals(want):
		v.addf(is.path, "is %s, and follows to be %s", is.text, want.text)
	}
}

func whole(s string) bool { return !strings.ContainsAny(s, ".eE") }

// equals compares scalars, numbers by the tolerance.
func (n *node) equals(other *node) bool {
	if n.text == other.text {
		return true
	}
	if n.kind == number && whole(n.text) && whole(other.text) {
		return false // Counts are compared exactly.
	}
	a, errA := strconv.ParseFloat(n.text, 64)
	b, errB := strconv.ParseFloat(other.text, 64)
	if n.kind != number || errA != nil || errB != nil {
		return false
	}
	return math.Abs(a-b) <= Tolerance*math.Max(math.Abs(a), math.Abs(b))
}
