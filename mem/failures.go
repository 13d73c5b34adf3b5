package mem

import (
	"bytes"

	"github.com/wherryhq/wherry/driver"
)

// failures collects what became of the entries of a batch. The zero value has none.
type failures struct {
	errs []error
}

func (f *failures) add(n, i int, err error) {
	if f.errs == nil {
		f.errs = make([]error, n)
	}
	f.errs[i] = err
}

// err returns nil, the error of a batch of one, or a batch error.
func (f *failures) err(n int) error {
	switch {
	case f.errs == nil:
		return nil
	case n == 1:
		return f.errs[0]
	default:
		return &driver.BatchError{Errs: f.errs}
	}
}

// earlier is an error when one of the records before r failed and has its key: r would overtake it.
func (f *failures) earlier(before []driver.Record, r *driver.Record) error {
	if f.errs == nil || len(r.Key) == 0 {
		return nil
	}
	for i := range before {
		if f.errs[i] != nil && bytes.Equal(before[i].Key, r.Key) {
			return errEarlier
		}
	}
	return nil
}
