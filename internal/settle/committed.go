package settle

// Committed says where the ledger holds a result, on disk.
type Committed struct {
	Match    string
	Counted  bool  // for boards and totals: not a result beyond a limit that only the ledger sees
	New      bool  // false: it was there before, and what follows is zero
	FirstPos int64 // of its entries in the game's ledger; 0 if it has none
	LastPos  int64
	At       int64 // by the database's clock, epoch ms
}
