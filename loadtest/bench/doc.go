// Package bench measures the speed and the cost of a server, beside peers and floors in the
// same run. docs/PERFORMANCE.md has the current figures.
//
//   - Answers: accepted answers and first right answers of arenas.
//   - Duels: answers of duels, on embedded stores and on Redis.
//   - Arena: one arena with thousands of players.
//   - Scale: the cost of an answer on 1, 2 and 4 nodes.
//   - Broadcast: how long a push takes to reach every watcher of an arena.
//   - Restore: backup and restore of a large ledger.
//   - Connections: the memory of a connection, a storm of connects, the death of a node.
//
// A floor is a program without a game that does only the unavoidable work. A peer is
// another way to do the same. Each run starts its own nodes and stores (cluster). The
// clients are in this process. Clients, nodes and stores share the machine, so figures of
// one run can be compared with each other, and not with those of other machines.
//
// Start reading at Answers. Its cases, answeringPlayers and usage also serve Duels and Scale;
// cluster serves all programs. The package must not import packages of the server.
package bench
