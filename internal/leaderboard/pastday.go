package leaderboard

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"sync"
)

// pastDay holds the entries of a day that is over, in columns: with millions
// of them, every pointer counts. But for its orders it does not change.
type pastDay struct {
	version int64
	asOf    int64    // when its newest result was committed, epoch ms
	ids     []byte   // one after the other, ascending in bytes
	ends    []uint32 // of each id
	newest  []int64
	parts   []Parts

	mu     sync.Mutex
	orders map[orderOf][]uint32 // entries as ranked, each order reckoned when it is first asked for
}

// orderOf is what decides an order, besides the entries.
type orderOf struct {
	order      Order
	weights    Weights
	minAnswers int64
}

func (d *pastDay) add(s Sum) error {
	d.ids = append(d.ids, s.Holder...)
	d.ends = append(d.ends, uint32(len(d.ids)))
	d.newest = append(d.newest, s.Newest)
	d.parts = append(d.parts, s.Parts)
	d.asOf = max(d.asOf, s.At)
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
	of := orderOf{order, cfg.Weights, cfg.MinAnswers}
	entries, known := d.orders[of]
	if !known {
		entries = d.rank(of)
		d.orders[of] = entries
	}
	return ranking{day: d, of: of, entries: entries}
}

func (d *pastDay) rank(of orderOf) []uint32 {
	keys := make([]float64, len(d.parts))
	var entries []uint32
	for i, p := range d.parts {
		if Rankable(of.order, p, of.minAnswers) {
			keys[i] = Key(of.order, p, of.weights)
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
	of      orderOf
	entries []uint32
}

func (r ranking) row(index int) SliceRow {
	entry := r.entries[index]
	h := Held{ID: string(r.day.id(entry)), Newest: r.day.newest[entry], Parts: r.day.parts[entry]}
	return SliceRow{Held: h, Key: r.key(h.Parts)}
}

func (r ranking) key(p Parts) float64 { return Key(r.of.order, p, r.of.weights) }

// before counts the entries before an edge, whether or not it is there.
func (r ranking) before(edge Ranked) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.row(i).edge().compare(edge) >= 0 })
}

// better counts the entries with better keys.
func (r ranking) better(key float64) int { return r.before(Ranked{Key: key}) }

// index says where an id stands; ok false: it is not ranked.
func (r ranking) index(id string) (index int, ok bool) {
	entry, ok := sort.Find(len(r.day.ends), func(i int) int { return bytes.Compare([]byte(id), r.day.id(uint32(i))) })
	if !ok || !Rankable(r.of.order, r.day.parts[entry], r.of.minAnswers) {
		return 0, false
	}
	h := Held{ID: id, Newest: r.day.newest[entry]}
	return r.before(Ranked{Key: r.key(r.day.parts[entry]), Member: h.Member()}), true
}

// compare orders members as a ranking does.
func (r Ranked) compare(other Ranked) int {
	return cmp.Or(cmp.Compare(r.Key, other.Key), cmp.Compare(r.Member, other.Member))
}
