// Package leaderboard ranks players and teams by the results in the ledger.
//
// Words of this package:
//
//   - board: one ranked set of entries, of one kind (players or teams) and one span
//     of days.
//   - holder: the player or team that an entry belongs to.
//   - window: the span that a query names: all days, the open day, or the last N days.
//   - open day: the ledger's current day.
//   - rolling window: a window of the last N days. It has two boards. Readers see one of
//     them. The applier prepares the other one for tomorrow: it evicts the oldest day.
//   - evict a day: subtract the day's entries from a rolling board.
//   - delete a day: delete the board that holds this day alone. The archive then ranks it.
//   - order: the sort key of a ranking. Every order of a board has its own ranking.
//   - board set: all boards of a game for one configuration. A new board set is built
//     while another one is served, and then replaces it.
//   - transaction: one atomic write to a board set: entries, members and the watermark.
//   - version: a random text of a board set. Each transaction replaces it, and applies
//     only to the version that it was computed from.
//   - watermark: the ledger position up to which a board set has applied the rows.
//   - maintenance: the evictions and deletions of days.
//
// [Applier] keeps the boards up to date with the [Ledger]. [Reader] answers queries.
// [Archive] ranks past days whose boards were deleted. Boards are stored behind
// [Store]; package redisstore implements it. [Display] encodes boards for clients.
//
// Each game of an Applier has a gameBoards with a rowApplier, a dayMaintainer, a builder
// and a verifier. Start reading with gameboards.go, then applyrows.go and plan.go (rows
// become transactions), evict.go (days leave rolling windows) and build.go (new board sets).
//
// Words of [Display]:
//
//   - answer: the encoded JSON of a page, a standing or a listing, with nicknames.
//   - watcher: a session that gets pushes of a board. A watched board is read once a second
//     for all its watchers.
//
// The package must not know Redis, SQL, HTTP or sessions.
package leaderboard
