package leaderboard

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
)

// pastDay holds the entries of one kind on a past day in columns, which saves pointers for
// millions of entries. Only its rankings change after it was read.
type pastDay struct {
	version int64    // DayVersion of the entries
	asOf    int64    // commit time of its newest result, epoch ms
	ids     []byte   // all ids, in ascending byte order, without separators
	ends    []uint32 // index in ids of the end of each id
	newest  []int64  // ledger position of each entry's newest result
	parts   []Aggregates

	mu     sync.Mutex
	orders map[orderKey][]uint32 // indexes of the ranked entries; each ranking is computed at its first use
}

// rankingRules are the part of a configuration that decides a ranking of given entries.
type orderKey struct {
	order      Order
	weights    Weights
	minAnswers int64
}

func (d *pastDay) add(s Sum) error {
	d.ids = append(d.ids, s.Holder...)
	d.ends = append(d.ends, uint32(len(d.ids)))
	d.newest = append(d.newest, s.Newest)
	d.parts = append(d.parts, s.Aggregates)
	d.asOf = max(d.asOf, s.CommittedAt)
	return nil
}

func (d *pastDay) id(entry uint32) []byte {
	start := uint32(0)
	if entry > 0 {
		start = d.ends[entry-1]
	}
	return d.ids[start:d.ends[entry]]
}

// rankingFor returns the day's ranking in one order of a configuration.
func (d *pastDay) ranking(cfg Config, order Order) ranking {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := orderKey{order, cfg.Weights, cfg.MinAnswers}
	entries, known := d.orders[key]
	if !known {
		entries = d.rank(key)
		d.orders[key] = entries
	}
	return ranking{day: d, order: key, entries: entries}
}

func (d *pastDay) rank(key orderKey) []uint32 {
	keys := make([]float64, len(d.parts))
	var entries []uint32
	for i, p := range d.parts {
		if Rankable(key.order, p, key.minAnswers) {
			keys[i] = Key(key.order, p, key.weights)
			entries = append(entries, uint32(i))
		}
	}
	slices.SortFunc(entries, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(d.newest[a], d.newest[b]))
	})
	return entries
}

// ranking is a past day's ranking in one order. Indexes count from 0. It answers reads like
// a RankingSource.
type ranking struct {
	day     *pastDay
	order   orderKey
	entries []uint32
}

func (r ranking) row(index int) SliceRow {
	entry := r.entries[index]
	h := BoardEntry{ID: string(r.day.id(entry)), Newest: r.day.newest[entry], Aggregates: r.day.parts[entry]}
	return SliceRow{BoardEntry: h, Key: r.key(h.Aggregates)}
}

func (r ranking) key(p Aggregates) float64 { return Key(r.order.order, p, r.order.weights) }

// countBefore counts the members that are ordered before edge, which need not be in the
// ranking.
func (r ranking) countBefore(edge Ranked) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.row(i).edge().compare(edge) >= 0 })
}

// countBetter counts the entries with a smaller key. Smaller keys are better.
func (r ranking) countBetter(key float64) int { return r.countBefore(Ranked{Key: key}) }

// findIndex returns the index of an id in the ranking. ok is false if the id is not ranked.
func (r ranking) find(id string) (index int, ok bool) {
	entry, ok := sort.Find(len(r.day.ends), func(i int) int { return bytes.Compare([]byte(id), r.day.id(uint32(i))) })
	if !ok || !Rankable(r.order.order, r.day.parts[entry], r.order.minAnswers) {
		return 0, false
	}
	h := BoardEntry{ID: id, Newest: r.day.newest[entry]}
	return r.countBefore(Ranked{Key: r.key(r.day.parts[entry]), Member: h.Member()}), true
}

// compare returns -1 if r comes before other in a ranking, 1 if it comes after, else 0.
func (r Ranked) compare(other Ranked) int {
	return cmp.Or(cmp.Compare(r.Key, other.Key), cmp.Compare(r.Member, other.Member))
}
