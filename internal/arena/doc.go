// Package arena manages matches that many players join by a code. It creates
// arenas, admits people to their lobby, and executes the requests of their hosts.
// After the start, an arena's match runs like any other match.
//
// Words:
//
//   - Arena: an event with a join code, a host, optional teams and one match.
//   - Place: what a person has in an arena: a seat as a player, or a role as
//     spectator or host.
//   - Code: six digits by which people join. A code is retired for an hour
//     after its arena is over.
//   - Record: what the ledger keeps of an arena, also if its match never starts. Hosts find
//     their past arenas by it.
//   - Activity: the ticket or match that a player is in, at most one (see package
//     lobby).
//
// The main type is Service. Start reading in service.go, then create.go and
// join.go; arena.go lists what the service needs from others.
//
// This package must not know about Redis, websockets or the steps of a match.
package arena
