// Package quiz defines questions, checks whether answers are right, and calculates their
// points. It also reads, checks and exports question banks, and draws the questions of a
// match from them. It stores nothing, and only a Library reads the clock.
//
// Words:
//
//   - Question: one question of a bank. It is never changed once it is in a
//     pool or a match, which share it, so all methods are safe for concurrent
//     use.
//   - DrawnQuestion: a question with the order of choices of one match.
//   - Canonical form of an answer: a short text such as "c:1". Two answers with the same
//     form mean the same.
//   - Folded: the form in which texts are compared, see Fold.
//   - Validation error: a reason why a question must not be asked.
//   - Bank: a named set of questions with distinct ids.
//   - Import: the outcome of reading a file: questions and skipped items.
//   - Pool: an index of banks, from which matches draw questions.
//   - Filter: the category, language and difficulty of the questions of a match.
//   - Library: the pools of all games, which the server loads again after an import.
//   - Conflict: two questions with the same text and different answers.
//
// For questions, start reading in quiz.go, then answer.go. For banks, start in bank.go,
// format.go for imports, pool.go for draws and library.go for the server. The file formats
// are in native.go (our own JSON), csv.go, gift.go (Moodle) and trivia.go (Open Trivia
// Database).
//
// This package must not know about matches, players or databases. A library knows only the
// names of games.
package quiz
