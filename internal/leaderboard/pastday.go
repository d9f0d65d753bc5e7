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
	version    int64    // DayVersion of the entries
	asOf       int64    // commit time of its newest result, epoch ms
	ids        []byte   // all ids, in ascending byte order, without separators
	idEnds     []uint32 // index in ids of the end of each id
	newest     []int64  // ledger position of each entry's newest result
	aggregates []Aggregates

	mu       sync.Mutex
	rankings map[rankingRules][]uint32 // indexes of the ranked entries; each ranking is computed at its first use
}

// rankingRules are the part of a configuration that decides a ranking of given entries.
type rankingRules struct {
	order      Order
	weights    Weights
	minAnswers int64
}

func (p *pastDay) add(sum DaySum) error {
	p.ids = append(p.ids, sum.Holder...)
	p.idEnds = append(p.idEnds, uint32(len(p.ids)))
	p.newest = append(p.newest, sum.Newest)
	p.aggregates = append(p.aggregates, sum.Aggregates)
	p.asOf = max(p.asOf, sum.CommittedAt)
	return nil
}

func (p *pastDay) id(entry uint32) []byte {
	start := uint32(0)
	if entry > 0 {
		start = p.idEnds[entry-1]
	}
	return p.ids[start:p.idEnds[entry]]
}

// rankingFor returns the day's ranking in one order of a configuration.
func (p *pastDay) rankingFor(cfg Config, order Order) ranking {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := rankingRules{order, cfg.Weights, cfg.MinAnswers}
	entries, known := p.rankings[key]
	if !known {
		entries = p.computeRanking(key)
		p.rankings[key] = entries
	}
	return ranking{day: p, rules: key, entries: entries}
}

func (p *pastDay) computeRanking(key rankingRules) []uint32 {
	keys := make([]float64, len(p.aggregates))
	var entries []uint32
	for i, aggregates := range p.aggregates {
		if Rankable(key.order, aggregates, key.minAnswers) {
			keys[i] = Key(key.order, aggregates, key.weights)
			entries = append(entries, uint32(i))
		}
	}
	slices.SortFunc(entries, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(keys[x], keys[y]), cmp.Compare(p.newest[x], p.newest[y]))
	})
	return entries
}

// ranking is a past day's ranking in one order. Indexes count from 0. It answers reads like
// a RankingSource.
type ranking struct {
	day     *pastDay
	rules   rankingRules
	entries []uint32
}

func (r ranking) entryAt(index int) RankedEntry {
	entry := r.entries[index]
	boardEntry := BoardEntry{ID: string(r.day.id(entry)), Newest: r.day.newest[entry], Aggregates: r.day.aggregates[entry]}
	return RankedEntry{BoardEntry: boardEntry, Key: r.keyFor(boardEntry.Aggregates)}
}

func (r ranking) keyFor(aggregates Aggregates) float64 {
	return Key(r.rules.order, aggregates, r.rules.weights)
}

// countBefore counts the members that are ordered before edge, which need not be in the
// ranking.
func (r ranking) countBefore(edge RankedMember) int {
	return sort.Search(len(r.entries), func(i int) bool { return r.entryAt(i).edge().compare(edge) >= 0 })
}

// countBetter counts the entries with a smaller key. Smaller keys are better.
func (r ranking) countBetter(key float64) int { return r.countBefore(RankedMember{Key: key}) }

// findIndex returns the index of an id in the ranking. ok is false if the id is not ranked.
func (r ranking) findIndex(id string) (index int, ok bool) {
	entry, ok := sort.Find(len(r.day.idEnds), func(i int) int { return bytes.Compare([]byte(id), r.day.id(uint32(i))) })
	if !ok || !Rankable(r.rules.order, r.day.aggregates[entry], r.rules.minAnswers) {
		return 0, false
	}
	boardEntry := BoardEntry{ID: id, Newest: r.day.newest[entry]}
	return r.countBefore(RankedMember{Key: r.keyFor(r.day.aggregates[entry]), Member: boardEntry.Member()}), true
}

// compare returns -1 if r comes before other in a ranking, 1 if it comes after, else 0.
func (r RankedMember) compare(other RankedMember) int {
	return cmp.Or(cmp.Compare(r.Key, other.Key), cmp.Compare(r.Member, other.Member))
}
