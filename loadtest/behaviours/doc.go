// Package behaviours measures the behaviour queue end to end, beside other
// designs. Each benchmark starts its own redis-server.
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 30m ./loadtest/behaviours
//
// Current figures are in docs/PERFORMANCE.md, section "Behaviours".
//
// Events of 200 bytes belong to 1,000 games, distributed by Zipf's law.
// Producers and reporters run at the same time, in this process. The benchmark
// slows producers down so that no queue reaches its bound. It also keeps the
// backlog below -backlog, so that events go in as fast as they come out. An event
// that was offered but not reported fails the benchmark. The column events/s
// counts the events that reach their reporters in the measured seconds. The column
// us/event is the processor time of this process and of Redis.
//
//   - Pairs: two scripts of a published article, Laststand and the floor in turn,
//     -pairs times. It prints medians, and the median ratio to the article's scripts.
//   - Floor: the least work that Redis must do for the same bytes; see least.
//   - Ours: Laststand alone, for a profile (-cpuprofile covers everything but Redis).
//   - Once: Laststand, for events whose ids count once, as the server reports its
//     own players.
//   - Streams: one stream and one consumer group for all games, so without batches
//     per game. One run sends one XADD at a time, another uses pipelines.
//   - Asynq: one task per event; its handler only counts. It is a separate module
//     (peers) and a separate process. Building it needs the network once.
//   - Posted: events as services post them, 100 and 1,000 of a game per call.
//   - Latency: the time from offered to reported, at half of the rate that Ours has
//     just reached.
//   - Many: the cost of -many games with few events each, while they wait and while
//     they are reported.
package behaviours
