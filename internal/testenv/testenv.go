package testenv

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, stops the shared servers and exits the process.
// The run fails if a goroutine is still running at the end. Use it like this:
//
//	func TestMain(m *testing.M) { testenv.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	StopShared()
	if err := findLeaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left over after the tests:", err)
		code = 1
	}
	os.Exit(code)
}

// findLeaks looks for leaked goroutines several times, because some end late. A Redis
// client that dials a dead server checks only once a second whether its pool was
// closed.
func findLeaks() (err error) {
	for range 4 { // each attempt takes about 0.4 s while a goroutine is running
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}
