package settle

import "laststand/internal/match"

// Committed says where the ledger holds a result, on disk.
type Committed struct {
	Match    string
	Counted  bool  // for boards and totals: not a result beyond a limit that only the ledger sees
	New      bool  // false: it was there before, and what follows is zero, but for Standings
	FirstPos int64 // of its entries in the game's ledger; 0 if it has none
	LastPos  int64
	At       int64 // by the database's clock, epoch ms

	// Standings are those of a rated result with the ratings that the ledger
	// computed; nil of any other.
	Standings []match.Standing
}
