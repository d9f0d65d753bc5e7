// Package checker holds the rules of the game, as the wire contract states them, and
// compares a server with them. Load programs and tests use it.
//
// Each client of a run has a View. It passes on every push that it receives, every
// answer that it sends, and every reply to an answer. The Checker compares the pushes of
// all clients of a match. When all players have seen the end of a match, the Checker
// computes its points, verdicts, first correct answers and standings, and compares them
// with everything that the server sent.
//
// At the end of a run, CheckStored compares the stored matches, histories, profiles and
// leaderboards with the matches that were played.
//
// Start reading at Checker. The package knows no client and no server, only the wire
// contract.
package checker
