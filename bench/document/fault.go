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

// String is the path and the text.
func (f Fault) String() string {
	if f.Path == "" {
		return f.Text
	}
	return f.Path + ": " + f.Text
}

// An InvalidError is what is wrong with a document. Its text has a line for each fault.
type InvalidError struct {
	Faults []Fault // in the order in which they were found; never empty
}

// Error has a line for each fault.
func (e *InvalidError) Error() string {
	lines := make([]string, 0, len(e.Faults))
	for _, fault := range e.Faults {
		lines = append(lines, fault.String())
	}
	return strings.Join(lines, "\n")
}

// faults are those that were found so far.
type faults []Fault

func (f *faults) addf(path, format string, args ...any) {
	*f = append(*f, Fault{path, fmt.Sprintf(format, args...)})
}

// err is nil if there is no fault.
func (f *faults) err() error {
	if len(*f) == 0 {
		return nil
	}
	return &InvalidError{*f}
}

// invalid is the error of one fault.
func invalid(path, format string, args ...any) error {
	var f faults
	f.addf(path, format, args...)
	return f.err()
}
