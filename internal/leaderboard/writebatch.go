package leaderboard

import (
	"maps"
	"slices"
)

// workingEntries holds, per board, the entries that a set of rows changes, as they are
// after the rows planned so far.
type workingEntries map[Board]*workingBoard

type workingBoard struct {
	entries    map[string]BoardEntry // by id; only requested entries
	entryCount int64                 // entries of the whole board
}

// newWorkingEntries combines requests and their results, which have the same order.
func newWorkingEntries(requests []EntryRequest, results []EntryResult) workingEntries {
	entries := workingEntries{}
	for i, request := range requests {
		board := &workingBoard{entries: map[string]BoardEntry{}, entryCount: results[i].BoardSize}
		for _, entry := range results[i].Found {
			board.entries[entry.ID] = entry
		}
		entries[request.Board] = board
	}
	return entries
}

// entry returns an entry of a board, or the zero BoardEntry if the board lacks it.
func (w workingEntries) entry(board Board, id string) BoardEntry {
	if w[board] == nil {
		return BoardEntry{}
	}
	return w[board].entries[id]
}

func (w workingEntries) entryCount(board Board) int64 {
	if w[board] == nil {
		return 0
	}
	return w[board].entryCount
}

// set stores an entry, or removes it if it has no match.
func (w workingEntries) set(board Board, entry BoardEntry) {
	if w[board] == nil {
		w[board] = &workingBoard{entries: map[string]BoardEntry{}}
	}
	working := w[board]
	_, existed := working.entries[entry.ID]
	switch {
	case entry.Aggregates.Matches > 0:
		working.entries[entry.ID] = entry
		if !existed {
			working.entryCount++
		}
	case existed:
		delete(working.entries, entry.ID)
		working.entryCount--
	}
}

// writeBatch collects the changes of the transaction being planned. It stores each
// changed entry as it was before the transaction.
type writeBatch struct {
	entriesBefore map[entryKey]BoardEntry
	changedKeys   []entryKey      // keys of before, in the order of their first change
	asOf          map[Board]int64 // commit time of the newest result, epoch ms
	resizedDays   map[string]bool // past days whose board sizes the transaction stores
	writeCount    int             // reserved writes, at most maxTransactionWrites
}

func newWriteBatch() *writeBatch {
	return &writeBatch{entriesBefore: map[entryKey]BoardEntry{}, asOf: map[Board]int64{}, resizedDays: map[string]bool{}}
}

// recordBefore records an entry as it was before the first change to it.
func (b *writeBatch) recordBefore(board Board, id string, before BoardEntry) {
	key := entryKey{board, id}
	if _, noted := b.entriesBefore[key]; noted {
		return
	}
	b.entriesBefore[key] = before
	b.changedKeys = append(b.changedKeys, key)
}

// daySizes returns the sizes of the days that the transaction ends or corrects, in
// ascending order of the days.
func (b *writeBatch) daySizes(entries workingEntries) []DaySizes {
	var sizes []DaySizes
	for _, day := range slices.Sorted(maps.Keys(b.resizedDays)) {
		dayCounts := DaySizes{Day: day, Sizes: map[Kind]int64{}}
		for _, kind := range Kinds() {
			dayCounts.Sizes[kind] = entries.entryCount(Board{kind, day})
		}
		sizes = append(sizes, dayCounts)
	}
	return sizes
}

// changes groups the changed entries by board. The boards are in the order of their first
// change.
func (b *writeBatch) changes(cfg Config, entries workingEntries) []Change {
	var changes []Change
	indexes, orders := map[Board]int{}, cfg.RankingOrders()
	for _, key := range b.changedKeys {
		i, known := indexes[key.board]
		if !known {
			i = len(changes)
			indexes[key.board] = i
			changes = append(changes, Change{
				Board: key.board, AsOf: b.asOf[key.board],
				RemovedMembers: map[Order][]string{}, AddedMembers: map[Order][]RankedMember{},
			})
		}
		cfg.addEntryChange(orders, &changes[i], b.entriesBefore[key], entries.entry(key.board, key.id))
	}
	return changes
}

// addEntryChange adds the change of one entry from before to after. Each is the zero
// BoardEntry if the board does not have the entry at that time.
func (c Config) addEntryChange(orders []Order, change *Change, before, after BoardEntry) {
	switch {
	case after.Newest > 0:
		change.PutEntries = append(change.PutEntries, after)
	case before.Newest > 0:
		change.RemovedIDs = append(change.RemovedIDs, before.ID)
	}
	for _, order := range orders {
		if before.Newest > 0 && Rankable(order, before.Aggregates, c.MinAnswers) {
			change.RemovedMembers[order] = append(change.RemovedMembers[order], before.Member())
		}
		if after.Newest > 0 && Rankable(order, after.Aggregates, c.MinAnswers) {
			change.AddedMembers[order] = append(change.AddedMembers[order], RankedMember{Key: Key(order, after.Aggregates, c.Weights), Member: after.Member()})
		}
	}
}
