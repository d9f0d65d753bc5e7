package timers

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

var (
	as      = flag.String("as", "", "the kind of timers that a process measures which the benchmark starts")
	count   = flag.Int("count", 0, "of a process's pending timers")
	churned = flag.Duration("churned", 0, "how long a process adds and stops besides")
	pending = flag.String("pending", "1000000", "timers that are pending at once; several numbers, each by itself")
	runs    = flag.Int("runs", 3, "of each kind, in turn")
	from    = flag.Duration("from", 5*time.Second, "the soonest that pending timers are due")
	to      = flag.Duration("to", 15*time.Second, "the latest")
	churn   = flag.Duration("churn", 10*time.Second, "how long timers are added and stopped beside those that are pending")
	adds    = flag.Int("adds", 200_000, "timers added a second; nine of ten are stopped")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *as != "" {
		result, err := measure()
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(result)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "timers:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	load, _ := os.ReadFile("/proc/loadavg") // for the reader only
	fmt.Printf("machine: %d cores, %s, %s; load %s", runtime.NumCPU(), runtime.GOARCH, runtime.Version(), load)
	os.Exit(m.Run())
}
