// Package ledger is the source of truth in SQL. It stores players and nicknames,
// results and the entries that follow from them, tasks, token keys and question banks.
// It runs on SQLite in a folder and on PostgreSQL, with one text for each statement.
// Its main type is [Ledger]. Start reading with Open in ledger.go and Commit in
// commit.go. The package must not know HTTP, Redis or sessions.
//
// # Entries
//
// Each game has a ledger of entries. Only Commit, Turn and Disqualify write entries,
// under the lock on the game's head. So positions count from 1 without gaps, in commit
// order. A reader that has read up to a position has read every entry up to it. A
// committed entry is on disk and never changes. To undo one, the ledger adds a
// correction, which is an entry too.
//
// # Days
//
// An entry belongs to a civil day in its game's time zone. Each day begins with an
// entry of its own, dated by the database's clock. The entry at position 1 begins the
// game's first day. Every later date has such an entry, also a date without results or
// a date that the time zone skipped, so days are consecutive. A day never comes again,
// whatever a clock does.
//
// Past days are summed by holder, in the background and in pages. A correction of a
// summed day updates its sums in the same transaction. So views can be rebuilt from the
// sums and the entries of the days since.
//
// # Queue
//
// The tasks of package taskqueue wait in queues (table lines), one for each topic and
// priority. A queue assigns positions under its lock, which is held until the commit,
// so positions are in commit order too. A claim takes the ready queues of a kind by an
// index, those with the least service first, and skips locked ones. A waiting task has
// a position. A task on which the queue itself must act later has a time instead. An
// ended task has neither.
//
// Events (results and ended days) are reported by tasks of the same transaction. The
// task exists if and only if the event does.
//
// # Concurrency
//
// All methods may be called concurrently, also from several processes. Each takes a
// context that bounds it. If Unavailable holds for an error, the caller can try again
// later.
package ledger
