package bench

import (
	"flag"
	"time"
)

// The benchmarks BehaviourX measure the behaviour queue end to end, beside other designs.
// Each starts its own redis-server.
//
//	go test -run '^$' -bench Behaviour -benchtime 1x -timeout 30m ./loadtest/bench
//
// Events of 200 bytes belong to 1,000 games, distributed by Zipf's law.
// Producers and reporters run at the same time, in this process. The benchmark
// slows producers down so that no queue reaches its bound. It also keeps the
// backlog below -backlog, so that events go in as fast as they come out. An event
// that was offered but not reported fails the benchmark. The column events/s
// counts the events that reach their reporters in the measured seconds. The column
// us/event is the processor time of this process and of Redis.
//
//   - Pairs: two scripts of a published article and Laststand in turn, -behaviour-pairs times.
//     It prints medians, and the median ratio to the article's scripts.
//   - Ours: Laststand alone, for a profile (-cpuprofile covers everything but Redis).

var (
	pairs     = flag.Int("behaviour-pairs", 5, "of runs, the article's and ours in turn")
	games     = flag.Int("games", 1000, "that events belong to")
	seconds   = flag.Duration("seconds", 5*time.Second, "that are measured, after some of warming up")
	window    = flag.Int64("window", 190_000, "events of ours that are on their way at the most, as many wait for -flush; below what a node collects, 200,000")
	backlog   = flag.Int64("backlog", 30_000, "the same of the other ways, which report as soon as they can: what they offer, they have reported in the same run")
	producers = flag.Int("behaviour-producers", 64, "that offer at once to who answers each event; the others have 4")
	consumers = flag.Int("consumers", 4, "that report at once, where the way does not say itself")
	flush     = flag.Duration("flush", time.Second, "after which ours reports a batch that is not full")
)
