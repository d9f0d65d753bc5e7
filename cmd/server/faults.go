package main

import (
	"errors"
	"fmt"
)

// validationErrors collects all problems of a configuration, so that the operator sees them
// together.
type faults []error

// addf adds an error. By convention its text starts with the configuration key and a colon.
func (f *faults) addf(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// add adds an error about the configuration key path. A nil error adds nothing.
func (f *faults) add(where string, err error) {
	if err != nil {
		f.addf("%s: %w", where, err)
	}
}

// join returns all errors as one error, or nil if there is none.
func (f faults) join() error { return errors.Join(f...) }
