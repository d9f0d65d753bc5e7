package leaderboard

import (
	"fmt"
	"strconv"
)

// compareBoard compares the holders' entries on a board with the expected ones.
func (v *verification) compareBoard(board Board, holders []string, want map[string]BoardEntry, have InspectedBoard) {
	foundIndexes := map[string]int{}
	for i, entry := range have.Found {
		foundIndexes[entry.ID] = i
	}
	for _, id := range holders {
		v.result.Entries++
		expected, isExpected := want[id]
		i, isThere := foundIndexes[id]
		switch {
		case isExpected && isThere:
			v.compareEntry(board, expected, have.Found[i], have.Keys[i])
		case isExpected:
			v.addDifference(Difference{Board: board, Holder: id, Field: "entry", Want: formatEntry(expected)})
		case isThere:
			v.addDifference(Difference{Board: board, Holder: id, Field: "entry", Have: formatEntry(have.Found[i])})
		}
	}
}

func formatEntry(entry BoardEntry) string {
	return fmt.Sprintf("newest %d, %+v", entry.Newest, entry.Aggregates)
}

// compareEntry compares an entry with the expected one.
func (v *verification) compareEntry(board Board, want, have BoardEntry, keys map[Order]float64) {
	compare := func(field, expected, actual string) {
		if expected != actual {
			v.addDifference(Difference{Board: board, Holder: want.ID, Field: field, Want: expected, Have: actual})
		}
	}
	compare("newest", decimal(want.Newest), decimal(have.Newest))
	actuals := have.Aggregates.namedFields()
	for i, aggregate := range want.Aggregates.namedFields() {
		compare(aggregate.name, decimal(aggregate.amount), decimal(actuals[i].amount))
	}
	for _, order := range v.cfg.RankingOrders() {
		var expected, actual string
		if Rankable(order, want.Aggregates, v.cfg.MinAnswers) {
			expected = formatKey(Key(order, want.Aggregates, v.cfg.Weights))
		}
		if key, ranked := keys[order]; ranked {
			actual = formatKey(key)
		}
		compare("key by "+string(order), expected, actual)
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

func (a Aggregates) namedFields() []namedAggregate {
	return []namedAggregate{
		{"score", a.Score}, {"time_ms", a.TimeMS}, {"limit_ms", a.LimitMS}, {"matches", a.Matches},
		{"asked", a.Asked}, {"answered", a.Answered}, {"correct", a.Correct},
	}
}
