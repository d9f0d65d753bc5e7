package leaderboard

import (
	"cmp"
	"slices"
	"sort"
	"sync"
)

// pastDay holds the entries of one kind on a past day. Only its rankings change after it
// was read.
type pastDay struct {
	asOf    int64        // commit time of its newest result, epoch ms
	entries []BoardEntry // in ascending byte order of the ids

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
	p.entries = append(p.entries, BoardEntry{ID: sum.Holder, Newest: sum.Newest, Aggregates: sum.Aggregates})
	p.asOf = max(p.asOf, sum.CommittedAt)
	return nil
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

func (p *pastDay) computeRanking(rules rankingRules) []uint32 {
	keys := make([]float64, len(p.entries))
	var ranked []uint32
	for i, entry := range p.entries {
		if Rankable(rules.order, entry.Aggregates, rules.minAnswers) {
			keys[i] = Key(rules.order, entry.Aggregates, rules.weights)
			ranked = append(ranked, uint32(i))
		}
	}
	slices.SortFunc(ranked, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(keys[x], keys[y]), cmp.Compare(p.entries[x].Newest, p.entries[y].Newest))
	})
	return ranked
}

// ranking is a past day's ranking in one order. Indexes count from 0. It answers reads like
// a RankingSource.
type ranking struct {
	day     *pastDay
	rules   rankingRules
	entries []uint32
}

func (r ranking) entryAt(index int) RankedEntry {
	entry := r.day.entries[r.entries[index]]
	return RankedEntry{BoardEntry: entry, Key: Key(r.rules.order, entry.Aggregates, r.rules.weights)}
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
	i, ok := slices.BinarySearchFunc(r.day.entries, id, func(entry BoardEntry, id string) int { return cmp.Compare(entry.ID, id) })
	if !ok || !Rankable(r.rules.order, r.day.entries[i].Aggregates, r.rules.minAnswers) {
		return 0, false
	}
	entry := r.day.entries[i]
	return r.countBefore(RankedMember{Key: Key(r.rules.order, entry.Aggregates, r.rules.weights), Member: entry.Member()}), true
}

// slice returns the requested entries. ErrNotRanked means that the request is for the
// entries around an entry that is not ranked.
func (r ranking) slice(request SliceRequest) (RankingSlice, error) {
	start := 0
	switch request.Anchor {
	case Around:
		index, isRanked := r.findIndex(request.ID)
		if !isRanked {
			return RankingSlice{}, ErrNotRanked
		}
		start = index - request.Limit/2
	case After:
		start = r.countBefore(request.Edge)
		if start < len(r.entries) && r.entryAt(start).edge() == request.Edge {
			start++
		}
	case Before:
		start = r.countBefore(request.Edge) - request.Limit
	}
	end := min(start+request.Limit, len(r.entries))
	start = max(start, 0)
	slice := RankingSlice{StartIndex: int64(start)}
	for i := start; i < end; i++ {
		slice.Entries = append(slice.Entries, r.entryAt(i))
	}
	if len(slice.Entries) > 0 {
		slice.BetterCount = int64(r.countBetter(slice.Entries[0].Key))
	}
	return slice, nil
}

// standings returns the standings of the ranked entries among ids, in the order of ids.
func (r ranking) standings(ids []string) []StandingEntry {
	var standings []StandingEntry
	for _, id := range ids {
		index, ok := r.findIndex(id)
		if !ok {
			continue
		}
		row := r.entryAt(index)
		standings = append(standings, StandingEntry{RankedEntry: row, BetterCount: int64(r.countBetter(row.Key))})
	}
	return standings
}

// boardState returns the state of the deleted boards with the data of the day filled in.
func (r ranking) boardState(boards BoardState, day string) BoardState {
	boards.Span, boards.AsOf, boards.Total = day, r.day.asOf, int64(len(r.entries))
	return boards
}

// compare returns -1 if r comes before other in a ranking, 1 if it comes after, else 0.
func (r RankedMember) compare(other RankedMember) int {
	return cmp.Or(cmp.Compare(r.Key, other.Key), cmp.Compare(r.Member, other.Member))
}
