// Package tasks measures the durable task queue as a node runs it, on SQLite and
// on PostgreSQL with fsync. Each benchmark starts its own databases.
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 60m ./loadtest/tasks
//
// Current figures are in docs/PERFORMANCE.md, section "Tasks".
//
// Tasks carry 200 bytes and belong to 1,000 topics in turn. Producers, workers
// and the database share the machine. The handlers of the workers do nothing. A
// task that was accepted but is not done at the end fails the benchmark. us/task
// is the processor time of this process and of PostgreSQL.
//
//   - Rates: -producers enqueue one task per call through the node's batcher, then
//     100 per call. -workers complete tasks on disk. -producers also claim and
//     complete by hand, one and 100 per call.
//   - Pairs: the first three of these, Laststand and River in turn, -pairs times,
//     each on its own database. It prints medians, and the median ratios to River.
//     River is a separate module (peers) and a separate process; building it needs
//     the network once. It runs with the settings of its own benchmark: one queue
//     instead of topics, and no unique keys without -river-unique.
//   - Many: -many topics with one task each. It measures how long the tasks take in
//     and out, the highest memory of this process, and the size of the database.
//   - Small: how long tasks of one topic wait while another topic holds -many tasks.
package tasks
