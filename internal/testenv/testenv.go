package testenv

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// shared is the state that all tests of a binary, or all parts of a program, share. The
// first one that needs a server starts it, and StopShared stops it.
var shared struct {
	mu      sync.Mutex
	dir     string         // folder of the shared servers; "": not created yet
	sweeper io.Closer      // standard input of the shell that removes dir
	swept   func() error   // waits for the end of that shell
	stops   []func() error // functions that onExit registered
}

// sharedDir returns the folder of the binary's shared servers. A shell removes the folder
// when its standard input closes, even if the binary is killed. Other users may enter the
// folder, because PostgreSQL runs as another user.
func sharedDir() (dir string, err error) {
	defer Recover(&err)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.dir != "" {
		return shared.dir, nil
	}
	dir = Must(os.MkdirTemp("", "laststand-testenv-"))
	MustDo(os.Chmod(dir, 0o755))
	sweep := exec.Command("/bin/sh", "-c", `cat; for try in 1 2 3 4 5; do rm -rf "$0" && break; sleep 1; done`, dir)
	sweep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that an interrupt reaches only the test binary
	pipe := Must(sweep.StdinPipe())
	MustDo(sweep.Start())
	shared.dir, shared.sweeper, shared.swept = dir, pipe, sweep.Wait
	return dir, nil
}

// newServerDir makes a folder for a server, whose program must be installed.
func newServerDir(program, path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%s is not installed; on Debian: apt-get install %[1]s", program)
	}
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, program+"-")
}

// onExit registers a function that Main calls after the tests. Main calls the last
// registered function first.
func onExit(stop func() error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.stops = append(shared.stops, stop)
}

// StopShared ends all nodes and servers that this process shares, and removes their folder.
// A program calls it last. Main calls it for tests.
func StopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for i := len(shared.stops) - 1; i >= 0; i-- {
		if err := shared.stops[i](); err != nil {
			fmt.Fprintln(os.Stderr, "stop what this process shares:", err)
		}
	}
	shared.stops = nil
	if shared.dir == "" {
		return
	}
	_ = shared.sweeper.Close()
	if err := shared.swept(); err != nil {
		fmt.Fprintf(os.Stderr, "remove %s: %v\n", shared.dir, err)
	}
	shared.dir = ""
}

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

// AllowMoreTests lets twice as many tests of a package run at the same time, unless the command
// line says how many. TestMain calls it where the tests wait two thirds of their time, for
// matches and for other processes.
func AllowMoreTests() { _ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) }

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
