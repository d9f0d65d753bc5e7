package testenv

import "testing"

// Interpreter returns the path of node or python3, to run an example from the
// documents. It is false if the program is not installed and not required; the
// test then has nothing to do.
func Interpreter(t testing.TB, name string) (path string, ok bool) {
	t.Helper()
	path = program(name)
	return path, has(t, name, path)
}
