package bench_test

import "flag"

// The benchmark TaskPairs measures the durable task queue as a node runs it, on PostgreSQL with
// fsync.
//
//	go test -run '^$' -bench TaskPairs -benchtime 1x -timeout 30m ./loadtest/bench
//
// Tasks carry 200 bytes and belong to 1,000 topics in turn. Producers, workers
// and the database share the machine. The handlers of the workers do nothing. A
// task that was accepted but is not done at the end fails the benchmark. us/task
// is the processor time of this process and of PostgreSQL.
//
// -producers enqueue one task per call through the node's batcher, then 100 per call. -workers
// complete tasks on disk. Laststand and River take turns, -pairs times, each on its own database.
// The benchmark prints medians, and the median ratios to River. River is a separate module (folder
// river) and a separate process; building it needs the network once. It runs with the settings of
// its own benchmark: one queue instead of topics, and no unique keys without -river-unique.
var (
	pairs     = flag.Int("pairs", 5, "of runs, ours and River in turn")
	singles   = flag.Int("singles", 20_000, "tasks that are enqueued one a call")
	batched   = flag.Int("batched", 100_000, "tasks that are enqueued 100 a call")
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
