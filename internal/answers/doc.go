// Package answers moves the answers of settled matches from the match store to the
// ledger, and defines the form in which the ledger stores them. From the stored answers it
// makes the report of an arena: how each question went, and what each player answered.
//
// The answers of a match wait in the match store until the ledger has its result. Then
// each node can claim the match, copy its answers, and release it. A claim ends after
// five minutes. So another node continues if a node dies. The ledger accepts each block once,
// and a block always has the same content. So no answer is stored twice.
//
// Words:
//
//   - Block: the answers of up to BlockPlayers players whose standings follow each
//     other. It is one row of the ledger.
//
//   - Retracted: an accepted answer that does not count, because its player left or the
//     match ended before the reveal.
//
//   - Original: a question with its choices in an order that does not depend on the
//     match, so that matches share it.
//
//   - Facility: the share of right answers among the answers to a question that count. It
//     is 0 without answers.
//
//   - Void: a survival question without a right answer, or a question that was made
//     void after the match. Its answers do not count.
//
// Start reading in answer.go, then saver.go for the move, pack.go for the form and report.go
// for reports. The package must not know SQL, Redis or HTTP.
package answers
