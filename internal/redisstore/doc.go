// Package redisstore stores the small states that all nodes share in Redis. Each main type
// keeps one of them:
//
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
// The package must not decide which players play each other, which limits exist, how
// nicknames are generated, or what a session sends.
package redisstore
