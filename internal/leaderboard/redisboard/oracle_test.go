package redisboard_test

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	lb "laststand/internal/leaderboard"
)

// oracle reckons a board from rows alone, by the wire contract's words and in
// exact fractions.
type oracle struct {
	cfg     lb.Config
	entries map[string]lb.Held
	asOf    int64
}

func sum(cfg lb.Config, rows []lb.Row, span string) oracle {
	o := oracle{cfg: cfg, entries: map[string]lb.Held{}}
	for _, r := range rows {
		if r.Kind != lb.ResultRow || span != "all" && span != r.Day {
			continue
		}
		h := o.entries[r.Player]
		h.ID, h.Newest = r.Player, r.Pos
		p := &h.Parts
		p.Score += r.Parts.Score
		p.TimeMS += r.Parts.TimeMS
		p.LimitMS += r.Parts.LimitMS
		p.Matches += r.Parts.Matches
		p.Asked += r.Parts.Asked
		p.Answered += r.Parts.Answered
		p.Correct += r.Parts.Correct
		o.entries[r.Player] = h
		o.asOf = r.At
	}
	return o
}

// better is the quantity of which more is better.
func (o oracle) better(order lb.Order, p lb.Parts) *big.Rat {
	switch order {
	case lb.ByScore:
		return big.NewRat(p.Score, 1)
	case lb.ByMatches:
		return big.NewRat(p.Matches, 1)
	case lb.ByAccuracy:
		return big.NewRat(p.Correct, p.Asked)
	case lb.ByTime:
		return big.NewRat(-p.TimeMS, p.Asked)
	}
	return big.NewRat(o.value(p), 1)
}

func (o oracle) value(p lb.Parts) int64 {
	w := o.cfg.Weights
	value := w.Score*p.Score + w.Matches*p.Matches
	if p.Asked > 0 {
		value += w.Accuracy * floor(big.NewRat(10000*p.Correct, p.Asked))
		saved := new(big.Rat).Sub(big.NewRat(1, 1), big.NewRat(p.TimeMS, p.LimitMS))
		value += w.Speed * floor(saved.Mul(saved, big.NewRat(10000, 1)))
	}
	return value
}

func floor(r *big.Rat) int64 {
	return new(big.Int).Div(r.Num(), r.Denom()).Int64()
}

// ranking is the whole board in page order, as it is to be shown.
func (o oracle) ranking(order lb.Order) []lb.Entry {
	held := slices.Collect(maps.Values(o.entries))
	if order == lb.ByAccuracy || order == lb.ByTime {
		held = slices.DeleteFunc(held, func(h lb.Held) bool {
			return h.Parts.Asked == 0 || h.Parts.Asked < o.cfg.MinAnswers
		})
	}
	slices.SortFunc(held, func(a, b lb.Held) int {
		return cmp.Or(o.better(order, b.Parts).Cmp(o.better(order, a.Parts)), cmp.Compare(a.Newest, b.Newest))
	})
	ranking := []lb.Entry{}
	for i, h := range held {
		rank := int64(i + 1)
		if i > 0 && o.better(order, h.Parts).Cmp(o.better(order, held[i-1].Parts)) == 0 {
			rank = ranking[i-1].Rank
		}
		ranking = append(ranking, o.entry(h, rank))
	}
	return ranking
}

func (o oracle) entry(h lb.Held, rank int64) lb.Entry {
	p := h.Parts
	e := lb.Entry{
		Rank: rank, ID: h.ID, Value: o.value(p), Score: p.Score, TimeMS: p.TimeMS,
		Matches: p.Matches, Asked: p.Asked, Answered: p.Answered, Correct: p.Correct,
	}
	if p.Asked > 0 {
		shown := big.NewRat(10000*p.Correct, p.Asked)
		shown.Add(shown, big.NewRat(1, 2))
		e.Accuracy = float64(floor(shown)) / 10000
	}
	return e
}
