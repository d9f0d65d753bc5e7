package main

import (
	"errors"
	"fmt"
)

// faults gathers all that is wrong with a configuration.
type faults []error

func (f *faults) addf(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) add(where string, err error) {
	if err != nil {
		f.addf("%s: %w", where, err)
	}
}

// between checks a number's range.
func (f *faults) between(where string, value, least, most int64) {
	if value < least || value > most {
		f.addf("%s: %d is not between %d and %d", where, value, least, most)
	}
}

// join is all faults as one error, nil where there are none.
func (f faults) join() error { return errors.Join(f...) }
