// Package arena is where players gather by a code before a match of many: it
// creates arenas, admits people to their lobby, and executes what their hosts
// request. Once an arena has begun, it is a match like any other.
//
// Words:
//
//   - Arena: an event with a join code, a host, optional teams and one match.
//   - Place: what a person has in an arena: a seat as a player, or a role as
//     spectator or host.
//   - Code: six digits by which people join. A code is retired for an hour
//     after its arena is over.
//   - Activity: what a player is in, one thing at a time (see package lobby).
//   - Stale: a recorded activity whose match no longer has the player.
//
// The main type is Service. Start reading in service.go, then create.go and
// join.go; arena.go lists what the service needs from others.
//
// This package must not know about Redis, websockets or the steps of a match.
package arena
