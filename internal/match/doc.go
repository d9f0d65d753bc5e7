// Package match runs matches. It contains the rules of the four modes (duel,
// buzzer, survival, race), the steps of a match, and the recovery of missed steps and
// pushes.
//
// No node owns a match. Its state is in stores that all nodes share. A step is
// a compare-and-set: one node wins it, and a repeated or late step changes
// nothing.
//
// Words:
//
//   - Plan: the fixed parameters of a match. State: the part that changes.
//     View: both, as read in one atomic operation.
//   - Step: one change of the phase, for example to seal a question. nextStep
//     in next_step.go computes it as a pure function. In a duel, steps also accept
//     the answers.
//   - Push: a frame of a match. Numbered pushes form a log, so a session that
//     missed some can catch up.
//   - Local match: the copy of a match that this node holds, with its timer and
//     the sessions of its players.
//   - Personal result: a frame for one player about a revealed question. Only
//     matches with over FullListPlayers players have them.
//   - Version: raised by every write. A store has lost data if its version is lower than
//     one that was seen, or if it misses a write of the node; then the match is abandoned.
//
// The main type is Engine. engine.go lists its parts; each part calls only parts
// below it, and tells others of changes by events. Start reading there, then
// next_step.go for the flow of a match and step_run.go for how steps are applied. An
// answer goes through answer.go, submit.go, in a duel submit_duel.go and duel_answers.go,
// and answer_reply.go.
//
// This package must not know about Redis, SQL, HTTP or websockets. Those
// implement the stores of store.go, Bus and Subscriber.
package match
