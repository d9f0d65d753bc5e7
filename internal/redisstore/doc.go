// Package redisstore stores in Redis what all nodes share, except matches and behaviours.
// Redis is one master, a cluster, or the embedded server. Each main type is one store:
//
//   - [Boards]: leaderboards. It implements leaderboard.Store and leaderboard.RankingSource.
//   - [Lobby]: tickets and pairings. It implements the stores of package lobby.
//   - [Limits]: the buckets of cluster-wide limits. It implements overload.Store.
//   - [Names]: reservations of suggested nicknames. It implements identity.NameReservations.
//   - [Sessions]: the numbers of sessions. It implements ws.SessionNumbers. A number is at
//     least the cluster time in epoch ms, and higher than all earlier numbers of the player.
//     So nodes know which of two sessions is newer.
//
// Keys that one change affects share a hash tag, so that every change is one Lua script.
// Each script is in a .lua file that is named after what it does. docs/reference/storage.md lists the
// keys.
//
// A waiting ticket is in three keys: its JSON in tickets, its rating in waiting, and its
// expiry (epoch ms) in alive. The key busy of each player has the player's activity:
// ticket:ID or match:ID.
//
// Go code computes the entries and keys of leaderboards. Scripts compare a version and write
// the given values, or read several Redis keys at one moment. So the cost of a script follows
// from its arguments, and the ranking rules exist only in Go. Words of leaderboards:
//
//   - board set: one complete set of a game's boards for one configuration.
//   - transaction: one atomic write to a board set, by board_commit.lua.
//   - version: the field of a board set's state that says which transaction was the last. Each
//     transaction replaces it. The value "torn" marks a corrupt board set: a script failed in
//     the middle of a transaction.
//   - entries: the hash of a board that stores its packed entries by id. Its Redis key
//     ends in "parts".
//   - ranking: a sorted set of a board: members by key.
//   - member: an entry in a ranking: its newest ledger position and its id.
//
// Start reading with lobby.go; for leaderboards with boards_keys.go, then boards_commit.go with
// board_commit.lua (writes) and boards_read.go with board_read_slice.lua (reads).
//
// The package must not decide which players play each other, which limits exist, how
// nicknames are generated, or what a session sends. It must not know the ledger, players'
// names or the wire contract.
package redisstore
