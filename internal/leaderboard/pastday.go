package leaderboard

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
)

// pastDay holds the entries of a past day in columns, which saves pointers for millions
// of entries. Only its orders change after it was read.
type pastDay struct {
	version int64
	asOf    int64    // commit time of its newest result, epoch ms
	ids     []byte   // concatenated, in ascending byte order
	ends    []uint32 // end of each id in ids
	newest  []int64
	parts   []Aggregates

	mu     sync.Mutex
	orders map[orderKey][]uint32 // ranked entries; each order is computed at its first use
}

// orderKey is all that decides an order besides the entries.
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

// ranking returns the day in one order of a configuration.
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

// ranking is a past day in one order. Indexes count from 0.
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

// countBefore counts the entries that rank before a position. The position does not have
// to be in the ranking.
func (r ranking) countBefore(edge Ranked) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.row(i).edge().compare(edge) >= 0 })
}

// countBetter counts the entries with smaller keys, which are better.
func (r ranking) countBetter(key float64) int { return r.countBefore(Ranked{Key: key}) }

// find returns the index of an id. ok is false if the id is not ranked.
func (r ranking) find(id string) (index int, ok bool) {
	entry, ok := sort.Find(len(r.day.ends), func(i int) int { return bytes.Compare([]byte(id), r.day.id(uint32(i))) })
	if !ok || !Rankable(r.order.order, r.day.parts[entry], r.order.minAnswers) {
		return 0, false
	}
	h := BoardEntry{ID: id, Newest: r.day.newest[entry]}
	return r.countBefore(Ranked{Key: r.key(r.day.parts[entry]), Member: h.Member()}), true
}

// compare returns the order of two members in a ranking.
func (r Ranked) compare(other Ranked) int {
	return cmp.Or(cmp.Compare(r.Key, other.Key), cmp.Compare(r.Member, other.Member))
}
