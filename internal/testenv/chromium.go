package testenv

import "testing"

// Chromium is the path of a Chromium or Chrome to drive headless. It is false
// where none is installed and none is required; the test then has nothing to do.
func Chromium(t testing.TB) (path string, ok bool) {
	t.Helper()
	path = program("chromium", "chromium-browser", "google-chrome")
	return path, has(t, "chromium", path)
}
