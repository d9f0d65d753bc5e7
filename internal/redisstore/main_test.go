package redisstore

import (
	"flag"
	"testing"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "8") // a check of leaderboards pages through every board, on three kinds of Redis; a command-line flag can set more
	testenv.Main(m)
}

// must returns a function that returns a value, or ends the test if there is an error.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		requireNoError(t, err)
		return value
	}
}

// requireNoError ends the test if there is an error.
func requireNoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
