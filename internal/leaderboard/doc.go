// Package leaderboard ranks players and teams by the results in the ledger.
//
// Words of this package:
//
//   - board: one ranked set of entries, of one kind (players or teams) and one span
//     of days.
//   - window: the span that a query names: all days, the open day, or the last N days.
//   - rolling window: a window of the last N days. It has two boards. One is served;
//     days are evicted from the other one to prepare it for tomorrow.
//   - order: the sort key of a ranking. Every order of a board has its own ranking.
//   - generation, or copy: all boards of a game for one configuration. A new copy is
//     built beside the served one and then replaces it.
//   - step: one atomic write to a copy. It changes entries and the watermark.
//   - version: a random text that every step replaces. A step applies only to the
//     version that it was computed from.
//   - watermark: the ledger position up to which a copy has applied the rows.
//   - sealed day: a past day whose board sizes are recorded.
//
// [Applier] keeps the boards up to date with the [Ledger]. [Reader] answers queries.
// [Archive] ranks past days whose boards were dropped. Boards are stored behind
// [Store]; package redisboard implements it. Package display shows boards to clients.
//
// Start reading with Applier.Apply in applier.go, then plan.go (rows become steps),
// evict.go (days leave rolling windows) and build.go (new copies).
//
// The package must not know Redis, SQL, HTTP or sessions.
package leaderboard
