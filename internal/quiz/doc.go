// Package quiz defines questions, and judges and values the answers to them. It
// is pure: no I/O, no clock.
//
// Words:
//
//   - Question: one question of a bank. It is never changed once it is in a
//     pool or a match, which share it, so all methods are safe for concurrent
//     use.
//   - Drawn: a question with the order of choices of one match.
//   - Given: what a player submitted. Its canonical form is a short text such
//     as "c:1"; two answers with the same form mean the same.
//   - Folded: the form in which texts are compared, see Fold.
//   - Fault: a reason why a question must not be asked.
//
// Start reading in quiz.go, then drawn.go, given.go and correct.go. Package
// bank reads and draws questions. This package must not know about matches.
package quiz
