// Package lobby is where tickets wait and matches form. It decides who may play
// whom, and turns two tickets into one match, on whichever nodes they arrived.
//
// Words:
//
//   - Ticket: a player's request for an opponent. The node that accepted it
//     tries to pair it every half second and keeps it alive.
//   - Pairing: two tickets, or one and a bot, whose match is being created.
//   - Filter: the category, language and difficulty that a player wants.
//   - Activity: what a player is in: one ticket, one match, or nothing.
//   - Window: the accepted rating difference. It grows while a ticket waits.
//
// The main type is Lobby. Start reading in lobby.go, then join.go and pair.go.
// sweep.go handles pairings of dead nodes, take_over.go players who reconnect
// at another node.
//
// This package must not know about Redis or websockets. Tickets are behind
// Store, which redislobby implements.
package lobby
