// Package players plays for load programs and tests. It shares only the wire contract with
// the server.
//
//   - A Player is one websocket connection.
//   - An AnsweringPlayer answers every question, with little work of its own.
//   - A Group is many clients: players of duels and arenas, hosts, idle sessions, watchers
//     and readers of leaderboards, new guests, and services that post behaviours. They are
//     honest, unless their Habits say that they cheat. They pass on everything that they
//     receive to a checker.
//
// Start reading at Group. A matchRun is the way of one player through one match.
package players
