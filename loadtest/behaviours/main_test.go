package behaviours

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

var (
	pairs     = flag.Int("pairs", 5, "of runs, the article's and ours in turn")
	games     = flag.Int("games", 1000, "that events belong to")
	many      = flag.Int("many", 100_000, "games of the benchmark of idle ones")
	seconds   = flag.Duration("seconds", 5*time.Second, "that are measured, after some of warming up")
	window    = flag.Int64("window", 190_000, "events of ours that are on their way at the most, as many wait for -flush; below what a node collects, 200,000")
	backlog   = flag.Int64("backlog", 30_000, "the same of the other ways, which report as soon as they can: what they offer, they have reported in the same run")
	producers = flag.Int("producers", 64, "that offer at once to who answers each event; the others have 4")
	consumers = flag.Int("consumers", 4, "that report at once, where the way does not say itself")
	flush     = flag.Duration("flush", time.Second, "after which ours reports a batch that is not full")
)

func TestMain(m *testing.M) {
	flag.Parse()
	fmt.Printf("machine: %d cores, %s, %s, %s; producers, reporters and Redis share it\n",
		runtime.NumCPU(), processor(), runtime.GOARCH, runtime.Version())
	os.Exit(m.Run())
}

// processor returns the processor's name according to Linux.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
