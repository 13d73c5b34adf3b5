package wherry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An AbandonedError is a Run that ended with work undone, or that may have: Handlers calls had not returned when drain and
// grace were over, and Left messages were still in a broker that forgets them at exit.
//
// Of a Run of several consumers, [errors.As] and [errors.AsType] find one for all of them together; the text of the whole error
// names each.
type AbandonedError struct {
	Handlers int
	Left     int
	// Topics are those that have what is left, or may have it, sorted; hold topics have names of their own. It is nil where
	// nothing is left. It is not to be changed.
	Topics []string
	// Unknown is why the broker does not tell how many messages are left. Left is then what it does tell, and there may be
	// more. It is nil where Left is all of them.
	Unknown error
}

// Error names what was left undone, and says where a number is not known.
func (e *AbandonedError) Error() string {
	var parts []string
	if e.Handlers > 0 {
		parts = append(parts, counted(e.Handlers, "handler")+" still running")
	}
	if e.Left > 0 {
		parts = append(parts, counted(e.Left, "message")+" left in "+e.where())
	}
	text := "stopped with " + strings.Join(parts, " and ")
	switch {
	case e.Unknown == nil && len(parts) == 0:
		return "stopped with nothing left undone"
	case e.Unknown == nil:
		return text
	case len(parts) == 0:
		return fmt.Sprintf("stopped, and how many messages are left in %s is not known: %v", e.where(), e.Unknown)
	case e.Left == 0:
		return fmt.Sprintf("%s, and how many messages are left in %s is not known: %v", text, e.where(), e.Unknown)
	default:
		return fmt.Sprintf("%s, and how many more is not known: %v", text, e.Unknown)
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (e *AbandonedError) where() string {
	if len(e.Topics) == 0 {
		return "the broker"
	}
	return strings.Join(e.Topics, ", ")
}

// Unwrap returns Unknown.
func (e *AbandonedError) Unwrap() error { return e.Unknown }

func (e *AbandonedError) isZero() bool { return e.Handlers == 0 && e.Left == 0 && e.Unknown == nil }

// add adds what another tells of.
func (e *AbandonedError) add(other *AbandonedError) {
	e.Handlers += other.Handlers
	e.Left += other.Left
	e.Topics = slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.Topics, other.Topics))))
	e.Unknown = errors.Join(e.Unknown, other.Unknown)
}

// joinEnds joins what several runs came to. Where more than one of them left something undone, the sum is found in it before
// each.
func joinEnds(errs ...error) error {
	err := errors.Join(errs...)
	all := abandonedIn(err)
	if len(all) < 2 {
		return err
	}
	var sum AbandonedError
	for _, one := range all {
		sum.add(one)
	}
	return &endsError{errs: slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil }), text: err, sum: &sum}
}

// endsError is several errors, and the sum of what they say was left undone.
type endsError struct {
	errs []error
	text error
	sum  *AbandonedError
}

func (e *endsError) Error() string { return e.text.Error() }

func (e *endsError) Unwrap() []error { return e.errs }

// As finds the sum.
func (e *endsError) As(target any) bool {
	t, ok := target.(**AbandonedError)
	if ok {
		*t = e.sum
	}
	return ok
}

// abandonedIn is each of those in an error.
func abandonedIn(err error) []*AbandonedError {
	if one, ok := err.(*AbandonedError); ok { //nolint:errorlint // The tree is walked here.
		return []*AbandonedError{one}
	}
	switch err := err.(type) { //nolint:errorlint // As above.
	case interface{ Unwrap() error }:
		return abandonedIn(err.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*AbandonedError
		for _, each := range err.Unwrap() {
			all = append(all, abandonedIn(each)...)
		}
		return all
	}
	return nil
}
