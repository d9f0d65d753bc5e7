// Package quiz defines questions, checks whether answers are right, and
// calculates their points. It does no I/O and reads no clock.
//
// Words:
//
//   - Question: one question of a bank. It is never changed once it is in a
//     pool or a match, which share it, so all methods are safe for concurrent
//     use.
//   - DrawnQuestion: a question with the order of choices of one match.
//   - AnswerValue: the answer that a player submitted. Its canonical form is a
//     short text such as "c:1"; two answers with the same form mean the same.
//   - Folded: the form in which texts are compared, see Fold.
//   - Validation error: a reason why a question must not be asked.
//
// Start reading in quiz.go, then drawn.go, answer.go and correct.go. Package
// bank reads and draws questions. This package must not know about matches.
package quiz
