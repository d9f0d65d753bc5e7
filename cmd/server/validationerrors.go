package main

import (
	"errors"
	"fmt"
)

// validationErrors collects all problems of a configuration, so that the operator sees them
// together.
type validationErrors []error

// addf adds an error. By convention its text starts with the configuration key and a colon.
func (e *validationErrors) addf(format string, args ...any) {
	*e = append(*e, fmt.Errorf(format, args...))
}

// add adds an error about the configuration key path. A nil error adds nothing.
func (e *validationErrors) add(path string, err error) {
	if err != nil {
		e.addf("%s: %w", path, err)
	}
}

// join returns all errors as one error, or nil if there is none.
func (e validationErrors) join() error { return errors.Join(e...) }
