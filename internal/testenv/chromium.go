package testenv

import "testing"

// Chromium returns the path of a Chromium or Chrome that can run headless. If none is
// installed and none is required, ok is false, and the caller must return.
func Chromium(t testing.TB) (path string, ok bool) {
	t.Helper()
	path = findExecutable("chromium", "chromium-browser", "google-chrome")
	return path, isInstalled(t, "chromium", path)
}
