// Package redislobby keeps tickets and pairings in Redis. It implements
// lobby.Store.
//
// All keys of a game's lobby share one hash tag, so that every change is one
// Lua script. A ticket is in three keys: its JSON in tickets, its rating in
// waiting, and its expiry in alive. The key busy of each player holds what the
// player is in. docs/STORAGE.md lists the keys.
//
// The main type is Store. Start reading in store.go and keys.go. Each script is
// a .lua file of the same name as its method. This package must not decide who
// plays whom.
package redislobby
