package leaderboard

import (
	"maps"
	"slices"
)

// contents holds entries of boards: those that a set of rows changes.
type contents map[Board]*boardContents

type boardContents struct {
	found map[string]BoardEntry
	size  int64 // entries of the whole board
}

// contentsOf combines requests and their answers.
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

// entry returns the zero BoardEntry if the board does not have the entry.
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

// set stores an entry. An entry without a match is removed.
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

// writeBatch collects the changes of the step being planned. It holds each changed entry
// as it was before the step.
type writeBatch struct {
	before   map[entryKey]BoardEntry
	order    []entryKey // of the first change to each
	asOf     map[Board]int64
	sealDays map[string]bool // days that the step ends or corrects
	writes   int
}

func newWriteBatch() *writeBatch {
	return &writeBatch{before: map[entryKey]BoardEntry{}, asOf: map[Board]int64{}, sealDays: map[string]bool{}}
}

// noteBefore records an entry's state before the first change to it.
func (d *writeBatch) noteBefore(b Board, id string, before BoardEntry) {
	key := entryKey{b, id}
	if _, noted := d.before[key]; noted {
		return
	}
	d.before[key] = before
	d.order = append(d.order, key)
}

// sealedDays returns the days that the step ends or corrects, in ascending order.
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

// changes groups the changed entries by board. Boards are in the order of their first
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

// addChange adds the change of one entry from before to after. Either is the zero
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
