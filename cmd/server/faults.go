package main

import (
	"errors"
	"fmt"
)

// faults collects everything that is wrong with a configuration.
type faults []error

func (f *faults) addf(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) add(where string, err error) {
	if err != nil {
		f.addf("%s: %w", where, err)
	}
}

// join returns all faults as one error, or nil.
func (f faults) join() error { return errors.Join(f...) }
