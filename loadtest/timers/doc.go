// Package timers measures the timing wheel of internal/timer beside
// time.AfterFunc, a heap with one goroutine (the JDK Timer's way), and the
// library's wheel as it comes:
//
//	go test -run '^$' -bench Pending -timeout 30m ./loadtest/timers    # 3 to 4 minutes
//	go test -run '^$' -bench Churn -timeout 30m ./loadtest/timers      # the same
//	go test -run '^$' -bench . -timeout 60m ./loadtest/timers -args -pending 100000,500000,1000000
//
// Each run is a process of its own; the kinds take turns, -runs times, and
// medians are printed, but for the earliest and the latest call of all runs.
//
//   - Pending: -pending timers are added at once, due after -from to -to, and all
//     are called.
//   - Churn: the same, and beside them for -churn two goroutines add -adds timers
//     a second, due after 2 to 5 s, and stop nine of ten of them half a second later.
//
// Bytes are of the live heap after a collection, and of the process (RSS), for
// each of the timers that are pending at once, their functions' 16 bytes
// included, who holds on to them not. CPU is the process's in all, with what it
// takes to make the load, but without that collection. Lateness is from the
// deadline, reckoned before the timer was added, to the call. The wheel fails
// the benchmark when it calls a function early, or never.
package timers
