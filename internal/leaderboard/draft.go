package leaderboard

import (
	"maps"
	"slices"
)

// contents are what boards hold, of the entries that matter.
type contents map[Board]*content

type content struct {
	held    map[string]Held
	entries int64 // of the whole board
}

// contentsOf makes contents of what wants were answered.
func contentsOf(wants []Want, answers []Content) contents {
	all := contents{}
	for i, w := range wants {
		c := &content{held: map[string]Held{}, entries: answers[i].Entries}
		for _, h := range answers[i].Held {
			c.held[h.ID] = h
		}
		all[w.Board] = c
	}
	return all
}

// entry is the zero Held where the board has none.
func (c contents) entry(b Board, id string) Held {
	if c[b] == nil {
		return Held{}
	}
	return c[b].held[id]
}

func (c contents) size(b Board) int64 {
	if c[b] == nil {
		return 0
	}
	return c[b].entries
}

// put sets an entry; without a match it leaves.
func (c contents) put(b Board, h Held) {
	if c[b] == nil {
		c[b] = &content{held: map[string]Held{}}
	}
	on := c[b]
	_, had := on.held[h.ID]
	switch {
	case h.Parts.Matches > 0:
		on.held[h.ID] = h
		if !had {
			on.entries++
		}
	case had:
		delete(on.held, h.ID)
		on.entries--
	}
}

// draft is the step being drawn up: the entries that it changes, as they were
// before it.
type draft struct {
	before map[spot]Held
	order  []spot // in which they were first touched
	asOf   map[Board]int64
	seals  map[string]bool // days that it ends or corrects
	writes int
}

func newDraft() *draft {
	return &draft{before: map[spot]Held{}, asOf: map[Board]int64{}, seals: map[string]bool{}}
}

// touch notes what an entry was before the draft's first change to it.
func (d *draft) touch(b Board, id string, was Held) {
	s := spot{b, id}
	if _, touched := d.before[s]; touched {
		return
	}
	d.before[s] = was
	d.order = append(d.order, s)
}

// sealed are the days that the draft ends or corrects, in order.
func (d *draft) sealed(now contents) []Sealed {
	var all []Sealed
	for _, day := range slices.Sorted(maps.Keys(d.seals)) {
		s := Sealed{Day: day, Entries: map[Kind]int64{}}
		for _, kind := range Kinds() {
			s.Entries[kind] = now.size(Board{kind, day})
		}
		all = append(all, s)
	}
	return all
}

// changes gathers the draft's entries by board, boards in the order of their
// first touch.
func (d *draft) changes(cfg Config, now contents) []Change {
	var all []Change
	at, rankings := map[Board]int{}, cfg.Rankings()
	for _, s := range d.order {
		i, known := at[s.board]
		if !known {
			i = len(all)
			at[s.board] = i
			all = append(all, Change{
				Board: s.board, AsOf: d.asOf[s.board],
				Out: map[Order][]string{}, In: map[Order][]Ranked{},
			})
		}
		cfg.change(rankings, &all[i], d.before[s], now.entry(s.board, s.id))
	}
	return all
}

// change writes what one entry's step from before to after means: either is
// the zero Held where the board has no such entry.
func (c Config) change(rankings []Order, to *Change, before, after Held) {
	switch {
	case after.Newest > 0:
		to.Put = append(to.Put, after)
	case before.Newest > 0:
		to.Gone = append(to.Gone, before.ID)
	}
	for _, o := range rankings {
		if before.Newest > 0 && Rankable(o, before.Parts, c.MinAnswers) {
			to.Out[o] = append(to.Out[o], before.Member())
		}
		if after.Newest > 0 && Rankable(o, after.Parts, c.MinAnswers) {
			to.In[o] = append(to.In[o], Ranked{Key: Key(o, after.Parts, c.Weights), Member: after.Member()})
		}
	}
}
