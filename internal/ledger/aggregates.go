package ledger

import (
	"strings"

	"laststand/internal/leaderboard"
)

// aggregateColumns are the columns of leaderboard.Parts wherever they are kept, in
// the order of partValues and partPlaces.
const aggregateColumns = `score, time_ms, limit_ms, matches, asked, answered, correct`

// eachAggregate is a piece of SQL for each of partColumns, the column in place of @.
func eachAggregate(piece string) string {
	columns := strings.Split(aggregateColumns, ", ")
	for i, column := range columns {
		columns[i] = strings.ReplaceAll(piece, "@", column)
	}
	return strings.Join(columns, ", ")
}

func aggregateValues(p leaderboard.Aggregates) []any {
	return []any{p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct}
}

// aggregatePointers are where Scan puts the columns.
func aggregatePointers(p *leaderboard.Aggregates) []any {
	return []any{&p.Score, &p.TimeMS, &p.LimitMS, &p.Matches, &p.Asked, &p.Answered, &p.Correct}
}

func negate(p leaderboard.Aggregates) leaderboard.Aggregates {
	return leaderboard.Aggregates{
		Score: -p.Score, TimeMS: -p.TimeMS, LimitMS: -p.LimitMS, Matches: -p.Matches,
		Asked: -p.Asked, Answered: -p.Answered, Correct: -p.Correct,
	}
}
