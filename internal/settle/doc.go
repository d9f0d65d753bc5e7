// Package settle commits the results of matches to the ledger, each exactly once.
// Then it applies them to the leaderboards, and then it notifies the players.
//
// A result arrives twice. The node that ended the match offers it. A sweep over
// the pending results finds it after a full queue, an error, or the death of a
// node. A result stays pending until the ledger has it, so none is lost while Redis
// keeps it. The ledger accepts a match once, so none counts twice. The order is
//
//	ledger (on disk) → no longer pending, its players free → leaderboards → notified
//
// A result that does not count for leaderboards ends after the second step, which also
// marks the match. Every node that holds the match looks for that mark, so it notifies its
// players even if this node dies before the last step. A match is held for some minutes
// after its end. If the ledger is down for longer, only this node's players are notified.
//
// If the ledger refuses a result because of that result, the service tries it again
// with the sweeps. After ten refusals at one node it is a dead letter: a task in SQL for an
// operator, and no longer pending. After any other error, results stay pending for
// as long as the error lasts. They also stay pending if the ledger refuses more
// than a few results of a game in a row (see gameHold).
//
// The main type is [Service]. Start reading at Service.Run in run.go, then commit.go; then
// refused.go (refusals) and notifier.go (after the ledger has a result). The package must not know SQL, Redis or how players are notified.
package settle
