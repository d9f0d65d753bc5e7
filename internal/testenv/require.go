package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// isInstalled reports whether a program is installed, which means that its path is not "". If
// the program is missing and required, the test fails. If it is missing and not required,
// isInstalled logs and records its name.
func isInstalled(t testing.TB, name string, path string) bool {
	t.Helper()
	if path != "" {
		return true
	}
	if os.Getenv("LASTSTAND_TEST_REQUIRE") == "all" {
		t.Fatalf("%s is not installed, and LASTSTAND_TEST_REQUIRE=all; install it, or run ./test as root on Debian, which does", name)
	}
	t.Logf("not tried: %s is not installed", name)
	recordUntried(t, name)
	return false
}

// recordUntried appends the name as one line to the file that LASTSTAND_TEST_UNTRIED names. It
// uses a single write, so that lines of test binaries that run at the same time do not mix.
func recordUntried(t testing.TB, name string) {
	t.Helper()
	path := os.Getenv("LASTSTAND_TEST_UNTRIED")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("record the missing program: %v", err)
	}
	defer file.Close()
	if _, err := file.WriteString(name + "\n"); err != nil {
		t.Fatalf("record the missing program: %v", err)
	}
}

// findExecutable returns the path of the first of the names that is on the PATH, or "".
func findExecutable(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Chromium returns the path of a Chromium or Chrome that can run headless. If none is
// installed and none is required, ok is false, and the caller must return.
func Chromium(t testing.TB) (path string, ok bool) {
	t.Helper()
	path = findExecutable("chromium", "chromium-browser", "google-chrome")
	return path, isInstalled(t, "chromium", path)
}

// Interpreter returns the path of node or python3, to run an example from the
// documents. If the program is not installed and not required, ok is false, and
// the caller must return.
func Interpreter(t testing.TB, name string) (path string, ok bool) {
	t.Helper()
	path = findExecutable(name)
	return path, isInstalled(t, name, path)
}
