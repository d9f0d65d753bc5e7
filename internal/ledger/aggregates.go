package ledger

import (
	"strings"

	"laststand/internal/leaderboard"
)

// aggregateColumns are the columns of leaderboard.Aggregates in all tables, in the
// order of aggregateValues and aggregatePointers.
const aggregateColumns = `score, time_ms, limit_ms, matches, asked, answered, correct`

// eachAggregate repeats an SQL fragment for each aggregate column, with commas between.
// The column's name replaces @. Example: "g.@" becomes "g.score, g.time_ms, …".
func eachAggregate(fragment string) string {
	columns := strings.Split(aggregateColumns, ", ")
	for i, column := range columns {
		columns[i] = strings.ReplaceAll(fragment, "@", column)
	}
	return strings.Join(columns, ", ")
}

func aggregateValues(p leaderboard.Aggregates) []any {
	return []any{p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct}
}

// aggregatePointers returns the destinations for Scan.
func aggregatePointers(p *leaderboard.Aggregates) []any {
	return []any{&p.Score, &p.TimeMS, &p.LimitMS, &p.Matches, &p.Asked, &p.Answered, &p.Correct}
}

func negate(p leaderboard.Aggregates) leaderboard.Aggregates {
	return leaderboard.Aggregates{
		Score: -p.Score, TimeMS: -p.TimeMS, LimitMS: -p.LimitMS, Matches: -p.Matches,
		Asked: -p.Asked, Answered: -p.Answered, Correct: -p.Correct,
	}
}
