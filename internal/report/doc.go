// Package report computes the report of an arena from its result and its answers in the
// ledger: how each question went, and what each player answered.
//
// Words:
//
//   - Facility: the share of right answers among the answers to a question that count. It
//     is 0 without answers.
//   - Void: a survival question without a right answer, or a question that was made
//     void after the match. Its answers do not count.
//
// Start reading in report.go. The package must not know SQL or HTTP.
package report
