// Package ledger is the source of truth in SQL. It stores players and nicknames,
// results and the entries that follow from them, tasks, token keys and question banks.
// It runs on SQLite in a folder and on PostgreSQL, with one text for each statement.
// [Ledger] has one field for each of the types that divide the tables among them. They share
// a database handle (database.go), whose transactions keep their first error. Start reading
// with Open in ledger.go and Results.Commit in commit.go. The package must not know HTTP,
// Redis or sessions.
//
// In signatures, at, now and other instants are epoch ms by the database's clock.
//
// # Entries
//
// Each game has a ledger of entries. Only Commit, StartNewDays, Disqualify, MakeVoid and Erase
// add entries, under the lock on the game's head. So positions count from 1 without gaps,
// in commit order. A reader that has read up to a position has read every entry up to it.
// A committed entry is on disk. Its values never change; only an erasure replaces the id
// of its holder. To undo an entry, the ledger adds a correction, which is an entry too. A
// correction can also change the values of an entry that still counts: see MakeVoid.
//
// # Days
//
// An entry belongs to a civil day (a date) in its game's time zone. The first entry of
// each day only starts the day, and is dated by the database's clock. The entry at
// position 1 starts the game's first day. Every later date has such an entry, also a
// date without results or a date that the time zone skipped. So days are consecutive.
// An ended day never becomes the current day again, even if a clock is set back.
//
// A holder is the player or team that an entry is about. SumDays sums past days by
// holder, in the background and in pages. A correction of a summed day updates its sums
// in the same transaction. So views can be rebuilt from the sums and from the entries of
// the days that are not summed yet.
//
// # Queue
//
// The tasks of package taskqueue wait in queues (table queues), one for each topic and
// priority. A queue assigns positions under its lock, which is held until the commit,
// so positions are in commit order too. A claim selects the ready queues of a kind by an
// index, those with the least service first, and skips locked ones. A waiting task has
// a position. A task whose wait or lease must end later has a due time. An ended task
// has neither.
//
// Events (results and ended days) are reported by tasks of the same transaction. A task
// exists if and only if its event does.
//
// # Concurrency
//
// All methods may be called concurrently, also from several processes. Each stops when
// its context ends. If IsUnavailable is true for an error, the caller can retry later.
package ledger
