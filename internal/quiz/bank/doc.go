// Package bank reads, checks and exports question banks, and draws the questions of
// a match from them. It stores nothing; other packages store imported banks.
//
// Words:
//
//   - Bank: a named set of questions with distinct ids.
//   - Import: the outcome of reading a file: questions and skipped items.
//   - Pool: an index of banks, from which matches draw questions.
//   - DrawSpec: how many questions of which category, language and difficulty a
//     match needs.
//   - Library: the pools of all games, which the server loads again after an import.
//   - Conflict: two questions with the same text and different answers.
//
// The main types are Bank, Pool and Library. Start reading in bank.go, format.go for
// imports, draw.go for draws and library.go for the server. The file formats are in native.go (our own
// JSON), csv.go, gift.go (Moodle) and trivia.go (Open Trivia Database).
//
// This package must not know about players or databases. A library knows only the
// names of games.
package bank
