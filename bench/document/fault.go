package document

import (
	"fmt"
	"strings"
)

// A Fault is one wrong value of a document.
type Fault struct {
	Path string // where it stands, as backends[0].matrix.rows[12].summary.median; empty for the whole document
	Text string // what is wrong, and what is wanted
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Text
	}
	return f.Path + ": " + f.Text
}

// Faults are all wrong values of a document, in the order in which they were found. As an error it has a line for each.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, 0, len(f))
	for _, fault := range f {
		lines = append(lines, fault.String())
	}
	return strings.Join(lines, "\n")
}

// err is nil if there is no fault: an empty Faults in an error is not.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

func (f *Faults) add(path, format string, args ...any) {
	*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
}
