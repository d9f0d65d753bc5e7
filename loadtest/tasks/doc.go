// Package tasks measures the durable queue as a node runs it, on SQLite and on
// a PostgreSQL with fsync that each benchmark starts for itself:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 60m ./loadtest/tasks
//	go test -run '^$' -bench Pairs -benchtime 1x -timeout 30m ./loadtest/tasks    # beside River, on one PostgreSQL
//
// Tasks carry 200 bytes and belong to 1,000 topics in turn. Producers, workers
// and the database share the machine; workers' handlers do nothing. A task that
// was accepted and is not done at the end fails the benchmark. us/task is
// processor time, of this process and of PostgreSQL.
//
//   - Rates: enqueued one a call by -producers at once, through the node's intake;
//     100 a call; worked off by -workers at once, as completions on disk; and by
//     hand: claimed and completed one a call by -producers at once, and 100 a call.
//   - Pairs: the first three of these, ours and River in turn, -pairs times, each
//     on a database of its own; medians, and the medians of what ours is times
//     River's. River is a module of its own, peers, and a process of its own:
//     building it needs the network once. It is given the settings of its own
//     benchmark, one queue instead of topics, and no unique keys unless
//     -river-unique.
//   - Many: -many topics with one task each: how long they take in and out, how
//     much memory this process has at the most, and how large the database is.
//   - Small: what tasks of one topic wait while another topic holds -many.
package tasks
