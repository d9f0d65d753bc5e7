package testenv

import "testing"

// Interpreter returns the path of node or python3, to run an example from the
// documents. If the program is not installed and not required, ok is false, and
// the caller must return.
func Interpreter(t testing.TB, name string) (path string, ok bool) {
	t.Helper()
	path = findExecutable(name)
	return path, isInstalled(t, name, path)
}
