// Package behaviours measures the queue of behaviours end to end, side by side
// with other ways, on one redis-server that each benchmark starts for itself:
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 30m ./loadtest/behaviours
//	go test -run '^$' -bench Pairs -benchtime 1x -timeout 30m ./loadtest/behaviours    # the goal: ours beside the article's scripts
//
// Events of 200 bytes belong to 1,000 games, by Zipf's law. Producers and
// reporters work at once, in this process. Producers are held back so that no
// queue reaches its bound, and by -backlog so that what is measured goes in as
// fast as it comes out; an event that was offered and not reported fails the
// benchmark. events/s are those that reach their reporters in the measured
// seconds, us/event is processor time, of this process and of Redis.
//
//   - Pairs: the article's two scripts, ours and the floor in turn, -pairs times;
//     medians, and the median of what ours is times the article's.
//   - Floor: the least that Redis has to do, for as many bytes: see least.
//   - Ours: ours alone, for a profile (-cpuprofile: all but Redis is this process).
//   - Once: ours for events whose ids are taken once, as the server says what its
//     own players do.
//   - Streams: one stream for all games and a consumer group, so without batches
//     per game; one XADD at a time, and pipelined.
//   - Asynq: a task an event, a handler that does nothing but count. It is a module
//     of its own, peers, and a process of its own: building it needs the network
//     once.
//   - Posted: as services post them, 100 and 1,000 of a game a call.
//   - Latency: from offered to reported at half of what ours was just seen to take.
//   - Many: -many games with few events each: what waiting and having reported costs.
package behaviours
