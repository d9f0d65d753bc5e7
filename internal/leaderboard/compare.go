package leaderboard

import (
	"fmt"
	"strconv"
)

// compareBoard compares the holders' entries on a board with the expected ones.
func (v *verification) compareBoard(b Board, holders []string, want map[string]BoardEntry, have Inspected) {
	indexes := map[string]int{}
	for i, h := range have.Found {
		indexes[h.ID] = i
	}
	for _, id := range holders {
		v.result.Entries++
		expected, isExpected := want[id]
		i, isThere := indexes[id]
		switch {
		case isExpected && isThere:
			v.compareEntry(b, expected, have.Found[i], have.Keys[i])
		case isExpected:
			v.addDifference(Difference{Board: b, Holder: id, Field: "entry", Want: formatEntry(expected)})
		case isThere:
			v.addDifference(Difference{Board: b, Holder: id, Field: "entry", Have: formatEntry(have.Found[i])})
		}
	}
}

func formatEntry(h BoardEntry) string { return fmt.Sprintf("newest %d, %+v", h.Newest, h.Aggregates) }

// compareEntry compares an entry with the expected one.
func (v *verification) compareEntry(b Board, want, have BoardEntry, keys map[Order]float64) {
	compare := func(field, expected, actual string) {
		if expected != actual {
			v.addDifference(Difference{Board: b, Holder: want.ID, Field: field, Want: expected, Have: actual})
		}
	}
	compare("newest", decimal(want.Newest), decimal(have.Newest))
	actuals := have.Aggregates.named()
	for i, part := range want.Aggregates.named() {
		compare(part.name, decimal(part.amount), decimal(actuals[i].amount))
	}
	for _, o := range v.cfg.Rankings() {
		var expected, actual string
		if Rankable(o, want.Aggregates, v.cfg.MinAnswers) {
			expected = formatKey(Key(o, want.Aggregates, v.cfg.Weights))
		}
		if key, ranked := keys[o]; ranked {
			actual = formatKey(key)
		}
		compare("key by "+string(o), expected, actual)
	}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// formatKey formats a key so that different keys have different texts.
func formatKey(key float64) string { return strconv.FormatFloat(key, 'g', -1, 64) }

// namedAggregate is one field of Aggregates with its JSON name.
type namedAggregate struct {
	name   string
	amount int64
}

func (p Aggregates) named() []namedAggregate {
	return []namedAggregate{
		{"score", p.Score}, {"time_ms", p.TimeMS}, {"limit_ms", p.LimitMS}, {"matches", p.Matches},
		{"asked", p.Asked}, {"answered", p.Answered}, {"correct", p.Correct},
	}
}
