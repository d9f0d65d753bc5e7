// Package redislobby stores tickets and pairings in Redis. It implements
// lobby.Store.
//
// All keys of a game's lobby have one hash tag, so that every change can be one
// Lua script. A waiting ticket is in three keys: its JSON in tickets, its rating in
// waiting, and its expiry (epoch ms) in alive. The key busy of each player has the
// player's activity: ticket:ID or match:ID. docs/STORAGE.md lists the keys.
//
// The main type is Store. Start reading in store.go and keys.go. Each script is in
// a .lua file, named after what it does. This package must not decide which players
// play each other.
package redislobby
