package tasks

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

var (
	pairs     = flag.Int("pairs", 5, "of runs, ours and River in turn")
	singles   = flag.Int("singles", 20_000, "tasks that are enqueued one a call")
	batched   = flag.Int("batched", 100_000, "tasks that are enqueued 100 a call")
	many      = flag.Int("many", 1_000_000, "topics with one task each; tasks of one topic beside a small one")
	topics    = flag.Int("topics", 1000, "that tasks belong to, in turn")
	producers = flag.Int("producers", 64, "that enqueue one a call at once; those that enqueue more are 4")
	workers   = flag.Int("workers", 1000, "tasks that are worked at once")
	unique    = flag.Bool("river-unique", false, "River takes each key once, as ours always does")
)

const (
	few        = 4   // callers with many tasks per call
	batch      = 100 // tasks per call
	taskBytes  = 200
	riverConns = 64 // connections of River to PostgreSQL: one for each producer; ours has 16
)

func TestMain(m *testing.M) {
	flag.Parse()
	fmt.Printf("machine: %d cores, %s, %s; producers, workers and database share it\n", runtime.NumCPU(), runtime.GOARCH, runtime.Version())
	os.Exit(m.Run())
}
