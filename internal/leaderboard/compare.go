package leaderboard

import (
	"fmt"
	"strconv"
)

// board compares what a board has of holders with what it should have.
func (v *verification) board(b Board, holders []string, want map[string]Held, have Inspected) {
	at := map[string]int{}
	for i, h := range have.Held {
		at[h.ID] = i
	}
	for _, id := range holders {
		v.done.Entries++
		should, wanted := want[id]
		i, there := at[id]
		switch {
		case wanted && there:
			v.entry(b, should, have.Held[i], have.Keys[i])
		case wanted:
			v.differ(Difference{Board: b, Holder: id, What: "entry", Want: shown(should)})
		case there:
			v.differ(Difference{Board: b, Holder: id, What: "entry", Have: shown(have.Held[i])})
		}
	}
}

func shown(h Held) string { return fmt.Sprintf("newest %d, %+v", h.Newest, h.Parts) }

// entry compares one that is there and should be.
func (v *verification) entry(b Board, want, have Held, keys map[Order]float64) {
	compare := func(what, should, is string) {
		if should != is {
			v.differ(Difference{Board: b, Holder: want.ID, What: what, Want: should, Have: is})
		}
	}
	compare("newest", decimal(want.Newest), decimal(have.Newest))
	has := have.Parts.named()
	for i, part := range want.Parts.named() {
		compare(part.name, decimal(part.amount), decimal(has[i].amount))
	}
	for _, o := range v.cfg.Rankings() {
		var should, is string
		if Rankable(o, want.Parts, v.cfg.MinAnswers) {
			should = exact(Key(o, want.Parts, v.cfg.Weights))
		}
		if key, ranked := keys[o]; ranked {
			is = exact(key)
		}
		compare("key by "+string(o), should, is)
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// exact writes a key so that every other one is written otherwise.
func exact(key float64) string { return strconv.FormatFloat(key, 'g', -1, 64) }

// namedPart is one of an entry's Parts by its name on the wire.
type namedPart struct {
	name   string
	amount int64
}

func (p Parts) named() []namedPart {
	return []namedPart{
		{"score", p.Score}, {"time_ms", p.TimeMS}, {"limit_ms", p.LimitMS}, {"matches", p.Matches},
		{"asked", p.Asked}, {"answered", p.Answered}, {"correct", p.Correct},
	}
}
