package testenv

import (
	"cmp"
	"os"
	"os/exec"
	"testing"
)

// require skips the test if a program is not installed and not required.
func require(t testing.TB, name string) {
	t.Helper()
	if !isInstalled(t, name) {
		t.Skipf("%s is not installed", name)
	}
}

// isInstalled reports whether a program is installed. If it is missing and required, the test fails.
// If it is missing and not required, isInstalled logs its name. It also appends the name as one line
// to the file that LASTSTAND_TEST_UNTRIED names, by a single write, so that lines of test binaries
// that run at the same time do not mix.
func isInstalled(t testing.TB, name string) bool {
	t.Helper()
	if programPath(name) != "" {
		return true
	}
	if os.Getenv("LASTSTAND_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is not installed, and LASTSTAND_TEST_REQUIRE=all; install it, or run ./test as root on Debian, which does", name)
	}
	t.Logf("not tried: %s is not installed", name)
	path := os.Getenv("LASTSTAND_TEST_UNTRIED")
	if path == "" {
		return false
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		defer file.Close()
		_, err = file.WriteString(name + "\n")
	}
	if err != nil {
		t.Fatalf("record the missing program: %v", err)
	}
	return false
}

// programPath returns the path of a program, "" if it is not installed. That of PostgreSQL is initdb.
func programPath(name string) string {
	switch name {
	case "postgresql":
		return initdbPath()
	case "chromium":
		return cmp.Or(findExecutable(name), findExecutable("chromium-browser"), findExecutable("google-chrome"))
	}
	return findExecutable(name)
}

// findExecutable returns the path of a program on the PATH, or "".
func findExecutable(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// Chromium returns the path of a Chromium or Chrome that can run headless. If none is
// installed and none is required, ok is false, and the caller must return.
func Chromium(t testing.TB) (path string, ok bool) {
	return programPath("chromium"), isInstalled(t, "chromium")
}

// Interpreter returns the path of node or python3, to run an example from the
// documents. If the program is not installed and not required, ok is false, and
// the caller must return.
func Interpreter(t testing.TB, name string) (path string, ok bool) {
	return programPath(name), isInstalled(t, name)
}

// Need returns a function that returns a value, or ends the test if there is an error. So a test
// passes the results of a call on as they are: Need(call())(t).
func Need[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
