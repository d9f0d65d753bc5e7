// Package lobby pairs players for duels. It stores tickets, decides which players
// may play each other, and creates one match from two tickets. The tickets may
// come from different nodes.
//
// Words:
//
//   - Ticket: a player's request for an opponent. The node that accepted it
//     tries to pair it every half second and keeps it alive.
//   - Pairing: two tickets, or one and a bot, whose match is being created.
//   - Filter: the category, language and difficulty that a player wants.
//   - Activity: the ticket or the match that a player is in, at most one.
//   - Window: the largest accepted rating difference. It grows while a ticket
//     waits.
//   - Forming: the match of a pairing does not exist yet.
//
// The main type is Lobby. Start reading in lobby.go, then join.go and pair.go.
// sweep.go handles pairings of dead nodes, take_over.go players who reconnect
// at another node.
//
// This package must not know about Redis or websockets. Package redisstore
// implements its stores.
package lobby
