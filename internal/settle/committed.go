package settle

import "laststand/internal/match"

// Committed says where the ledger holds a result, on disk.
type Committed struct {
	Match    string
	Counted  bool  // for leaderboards and totals; false beyond a limit that only the ledger sees
	New      bool  // false: the ledger had it before, and the fields below are zero, except Standings
	FirstPos int64 // of its entries in the game's ledger; 0 if it has none
	LastPos  int64
	At       int64 // by the database's clock, epoch ms

	// Standings are those of a rated result, with the ratings that the ledger
	// computed; nil for any other result.
	Standings []match.Standing
}
