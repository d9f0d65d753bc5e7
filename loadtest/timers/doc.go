// Package timers measures the timing wheel of internal/timer. It runs beside
// time.AfterFunc, a heap with one goroutine (as the JDK Timer does), and the
// unchanged wheel of the library.
//
//	go test -run '^$' -bench Pending -timeout 30m ./loadtest/timers    # 3 to 4 minutes
//	go test -run '^$' -bench Churn -timeout 30m ./loadtest/timers      # 3 to 4 minutes
//	go test -run '^$' -bench . -timeout 60m ./loadtest/timers -args -pending 100000,500000,1000000
//
// Current figures are in docs/PERFORMANCE.md, section "Timers".
//
// Each run is a separate process. The kinds take turns, -runs times. The
// benchmark prints medians, but the earliest and the latest call are of all runs.
//
//   - Pending: the benchmark adds -pending timers at once. They are due after -from
//     to -to, and all run.
//   - Churn: as Pending. For the time -churn, two goroutines also add -adds timers
//     per second that are due after 2 to 5 s. They stop nine of ten of these timers
//     half a second later.
//
// Bytes are those of the live heap after a collection, and of the process (RSS),
// divided by the highest number of pending timers. They include the 16 bytes of
// each function, but not the variables of the caller. CPU is that of the whole
// process. It includes the work of making the load, but not that collection.
// Lateness is the time from the deadline, computed before the timer was added, to
// the call. The benchmark fails if the wheel calls a function early, or never.
package timers
