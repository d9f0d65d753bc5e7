package settle

import "laststand/internal/match"

// Committed is the ledger's reply for one result, which is then on disk.
type Committed struct {
	Match                 string
	CountsForLeaderboards bool  // also for totals; false above a limit that only the ledger knows
	IsNew                 bool  // false: the ledger had it before, and the fields below are zero, except Standings
	FirstPos              int64 // position of its first entry in the game's ledger; 0 if it has no entries
	LastPos               int64 // position of its last entry; 0 if it has no entries
	CommittedAt           int64 // by the database's clock, epoch ms

	// Standings are those of a rated result, with the ratings that the ledger
	// computed; nil for any other result.
	Standings []match.Standing
}
