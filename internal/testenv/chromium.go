package testenv

import "testing"

// Chromium returns the path of a Chromium or Chrome that can run headless. It is false if
// none is installed and not required; the test then has nothing to do.
func Chromium(t testing.TB) (path string, ok bool) {
	t.Helper()
	path = program("chromium", "chromium-browser", "google-chrome")
	return path, has(t, "chromium", path)
}
