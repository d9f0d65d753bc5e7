package testenv

import (
	"errors"
	"fmt"
)

// failure is the panic of Must and MustDo.
type failure struct{ error }

// MustDo ends a measurement or a run if there is an error. As in a test, nothing is left to do then
// but to report it. Only a goroutine that has deferred Recover may call it; a test checks that.
func MustDo(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// FailIf ends the run with an error, if something is wrong; see MustDo.
func FailIf(isWrong bool, format string, args ...any) {
	if isWrong {
		MustDo(fmt.Errorf(format, args...))
	}
}

// Must returns a value, or ends the run if there is an error; see MustDo.
func Must[T any](v T, err error) T {
	MustDo(err)
	return v
}

// Recover adds the error with which MustDo has ended the function.
func Recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = errors.Join(*err, r.error)
	default:
		panic(r)
	}
}
