// Package testenv lends tests the real things they run against: Redis embedded,
// alone and as a cluster, SQLite and PostgreSQL, a browser, receivers of webhooks.
// Only _test.go files import it.
//
// A server belongs to the test that asked for it, or to the test binary where
// that says so, and ends with it, also when the binary panics or is killed.
// Every address is on 127.0.0.1 with a port of its own, so that tests run in
// parallel and packages beside each other.
//
// A program that is not installed fails the test where the environment says
// LASTSTAND_TEST_REQUIRE=all. Elsewhere what needs it is left out, logged, and
// its name is appended as a line to the file that LASTSTAND_TEST_UNTRIED names.
package testenv

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs a package's tests, stops what they shared and then fails the run
// if a goroutine is left over. It exits the process:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	stopShared()
	if err := findLeaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left over after the tests:", err)
		code = 1
	}
	os.Exit(code)
}

// findLeaks is patient with the Redis client: what dials a server that has died
// looks only once a second whether its pool was closed.
func findLeaks() (err error) {
	for range 4 { // of some 0.4 s each where something is left
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}
