// Package ledger is the truth in SQL: players and their nicknames, results and
// the entries that follow from them, token keys and question banks. It runs on
// SQLite in a folder and on PostgreSQL, with one text for each statement.
//
// # Entries
//
// Each game has a ledger of entries. Commit, Turn and Disqualify alone write it,
// under the lock on the game's head, so that positions count from 1 without gaps
// in the order of their commits: whoever has read up to a position has read all
// there will ever be up to it. A committed entry is on disk and never changes:
// what is to count no longer is taken back by a correction, an entry of its own.
//
// # Days
//
// An entry belongs to a civil day of its game's zone. Days turn by an entry of
// their own, written by the database's clock: the first one, at position 1,
// names the game's first day, and each later date has one, the dates on which
// nothing happened too, and those that the zone itself skipped, so that days
// are consecutive dates. A day never comes again, whatever a clock does.
//
// A day that is over is summed by holder, in the background and by pages, and a
// correction of it puts its sums right in the transaction that it is written in.
// So views are built anew from the sums and the entries of the days since.
//
// # Queue
//
// The tasks of internal/taskqueue wait in lines, one for each topic and priority. A
// line gives positions under its lock, held to the commit, so that they are in
// commit order too. Claims take the ready lines of a kind by an index, those first
// that have been served least, and leave locked ones to others. What is not in
// its line has no position; what the queue has to do of itself has an instant;
// what has ended neither.
//
// Events tell of results and of days that are over by tasks of the same
// transaction: the one is there if and only if the other is.
//
// # Concurrency
//
// All methods may be called concurrently, from several processes too. Each
// takes a context that bounds it. An error for which Unavailable holds says
// nothing about what was asked: try again later.
package ledger
