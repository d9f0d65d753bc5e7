// Package settle takes the results of matches into the ledger, each exactly
// once, then onto the boards, and then tells the players.
//
// A result comes twice: offered by the node that ended the match, and by a
// sweep over what still waits beside the match states, after a full queue, a
// fault or a node's death. It leaves that place once the ledger has it, so none
// is lost, and the ledger takes a match once, so none counts twice. The order is
//
//	ledger (on disk) → no longer pending, its players free → boards → told
//
// and a result that does not count for boards ends with the second. Players are
// told at least once: a node that dies on the way is followed by another's
// sweep, which cannot know whether it had told them.
//
// A result that the ledger refuses for its own fault waits apart and is tried with
// the sweeps; after ten refusals it is a dead letter: a task in SQL for an operator,
// and pending no longer. After any other error, known as an outage or not, results
// stay pending for as long as it lasts; so they do if more than a few of a game are
// refused in a row (see hold).
package settle
