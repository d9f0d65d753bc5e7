// Package redisboard stores leaderboards in Redis: one master, a cluster, or the
// embedded server.
//
// Go code computes entries and keys. Scripts compare a version and write the given
// values, or read several Redis keys at one moment. So the cost of a script follows from
// its arguments, and the ranking rules exist only in Go.
//
// Words of this package:
//
//   - board set: one complete set of a game's boards for one configuration.
//   - transaction: one atomic write to a board set, by commit.lua.
//   - version: the field of a board set's state that says which transaction was the last. Each transaction replaces it. The
//     value "torn" marks a corrupt board set: a script failed in the middle of a
//     transaction.
//   - entries: the hash of a board that stores its packed entries by id. Its Redis key
//     ends in "parts".
//   - ranking: a sorted set of a board: members by key.
//   - member: an entry in a ranking: its newest ledger position and its id.
//
// The main type is [Store]. Start reading with keys.go, then commit.go with
// commit.lua (writes) and read.go with read_slice.lua (reads).
//
// The package must not know the ledger, players' names or the wire contract.
package redisboard
