// Package redisboard stores leaderboards in Redis: one master, a cluster, or the
// embedded server.
//
// Go code computes entries and keys. Scripts compare a version and write the given
// values, or read several keys at one moment. So a script never does more work than
// its arguments say, and the ranking rules exist once.
//
// Words of this package:
//
//   - generation: one copy of all boards of a game for one configuration.
//   - version: the field "stamp" of a generation's state. Every step replaces it. The
//     value "torn" marks a generation in which a step was cut short.
//   - parts: the hash of a board that holds the packed entries by id.
//   - member: an entry in a sorted set: its newest ledger position and its id.
//
// The main type is [Store]. Start reading with keys.go, then commit.go with
// commit.lua (writes) and read.go with ready.lua (reads).
//
// The package must not know the ledger, players' names or the wire contract.
package redisboard
