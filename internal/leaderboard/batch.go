package leaderboard

import (
	"maps"
	"slices"
)

// workingEntries holds, per board, the entries that a set of rows changes, as they are
// after the rows planned so far.
type contents map[Board]*boardContents

type boardContents struct {
	found map[string]BoardEntry // by id; only requested entries
	size  int64                 // entries of the whole board
}

// newWorkingEntries combines requests and their results, which have the same order.
func contentsOf(wants []EntryRequest, answers []EntryAnswer) contents {
	all := contents{}
	for i, w := range wants {
		c := &boardContents{found: map[string]BoardEntry{}, size: answers[i].Size}
		for _, h := range answers[i].Found {
			c.found[h.ID] = h
		}
		all[w.Board] = c
	}
	return all
}

// entry returns an entry of a board, or the zero BoardEntry if the board lacks it.
func (c contents) entry(b Board, id string) BoardEntry {
	if c[b] == nil {
		return BoardEntry{}
	}
	return c[b].found[id]
}

func (c contents) size(b Board) int64 {
	if c[b] == nil {
		return 0
	}
	return c[b].size
}

// set stores an entry, or removes it if it has no match.
func (c contents) set(b Board, h BoardEntry) {
	if c[b] == nil {
		c[b] = &boardContents{found: map[string]BoardEntry{}}
	}
	board := c[b]
	_, existed := board.found[h.ID]
	switch {
	case h.Aggregates.Matches > 0:
		board.found[h.ID] = h
		if !existed {
			board.size++
		}
	case existed:
		delete(board.found, h.ID)
		board.size--
	}
}

// writeBatch collects the changes of the transaction being planned. It stores each
// changed entry as it was before the transaction.
type writeBatch struct {
	before   map[entryKey]BoardEntry
	order    []entryKey      // keys of before, in the order of their first change
	asOf     map[Board]int64 // commit time of the newest result, epoch ms
	sealDays map[string]bool // past days whose board sizes the transaction stores
	writes   int             // reserved writes, at most maxTransactionWrites
}

func newWriteBatch() *writeBatch {
	return &writeBatch{before: map[entryKey]BoardEntry{}, asOf: map[Board]int64{}, sealDays: map[string]bool{}}
}

// recordBefore records an entry as it was before the first change to it.
func (d *writeBatch) noteBefore(b Board, id string, before BoardEntry) {
	key := entryKey{b, id}
	if _, noted := d.before[key]; noted {
		return
	}
	d.before[key] = before
	d.order = append(d.order, key)
}

// daySizes returns the sizes of the days that the transaction ends or corrects, in
// ascending order of the days.
func (d *writeBatch) sealedDays(after contents) []SealedDay {
	var all []SealedDay
	for _, day := range slices.Sorted(maps.Keys(d.sealDays)) {
		sealed := SealedDay{Day: day, Sizes: map[Kind]int64{}}
		for _, kind := range Kinds() {
			sealed.Sizes[kind] = after.size(Board{kind, day})
		}
		all = append(all, sealed)
	}
	return all
}

// changes groups the changed entries by board. The boards are in the order of their first
// change.
func (d *writeBatch) changes(cfg Config, after contents) []Change {
	var all []Change
	indexes, rankings := map[Board]int{}, cfg.Rankings()
	for _, s := range d.order {
		i, known := indexes[s.board]
		if !known {
			i = len(all)
			indexes[s.board] = i
			all = append(all, Change{
				Board: s.board, AsOf: d.asOf[s.board],
				RemovedMembers: map[Order][]string{}, AddedMembers: map[Order][]Ranked{},
			})
		}
		cfg.addChange(rankings, &all[i], d.before[s], after.entry(s.board, s.id))
	}
	return all
}

// addEntryChange adds the change of one entry from before to after. Each is the zero
// BoardEntry if the board does not have the entry at that time.
func (c Config) addChange(rankings []Order, change *Change, before, after BoardEntry) {
	switch {
	case after.Newest > 0:
		change.Put = append(change.Put, after)
	case before.Newest > 0:
		change.Removed = append(change.Removed, before.ID)
	}
	for _, o := range rankings {
		if before.Newest > 0 && Rankable(o, before.Aggregates, c.MinAnswers) {
			change.RemovedMembers[o] = append(change.RemovedMembers[o], before.Member())
		}
		if after.Newest > 0 && Rankable(o, after.Aggregates, c.MinAnswers) {
			change.AddedMembers[o] = append(change.AddedMembers[o], Ranked{Key: Key(o, after.Aggregates, c.Weights), Member: after.Member()})
		}
	}
}
