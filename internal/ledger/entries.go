package ledger

import (
	"strings"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

// entry is one row of a game's ledger, to be added to table entries.
type entry struct {
	leaderboard.Row
	matchID      string // the match that caused it; "" for starts of days and moves
	correctedPos int64  // position of the result that a correction cancels; else 0
	adjustedPos  int64  // position of the result whose values a correction changes; else 0
}

// resultEntries returns the entries of the players of a result that counts, and then those of its
// teams. An entry of a team has the team's own score, and otherwise the sums of the team's
// players. A team without players has no entry.
func resultEntries(r *match.Result) (all []*entry) {
	if !r.CountsForLeaderboards {
		return nil
	}
	add := func(kind leaderboard.Kind, holder string, a leaderboard.Aggregates) {
		all = append(all, &entry{matchID: r.Match, Row: leaderboard.Row{Kind: leaderboard.ResultRow, HolderKind: kind, Holder: holder, Aggregates: a}})
	}
	sums := map[string]leaderboard.Aggregates{} // by team
	for s := range humanStandings(r) {
		aggregates := aggregatesOf(s)
		add(leaderboard.Players, s.Player, aggregates)
		if len(r.Teams) > 0 {
			sums[s.Team] = sums[s.Team].Add(aggregates)
		}
	}
	for _, t := range r.Teams {
		if aggregates, hasPlayers := sums[t.ID]; hasPlayers {
			aggregates.Score, aggregates.Matches = t.Score, 1
			add(leaderboard.Teams, t.ID, aggregates)
		}
	}
	return all
}

func aggregatesOf(s *match.Standing) leaderboard.Aggregates {
	return leaderboard.Aggregates{
		Score: s.Score, TimeMS: s.TimeMS, LimitMS: s.LimitMS, Matches: 1,
		Asked: int64(s.Asked), Answered: int64(s.Answered), Correct: int64(s.Correct),
	}
}

var insertEntry = insertRows("entries", "game, pos, id, kind, day, committed_at, match_id, holder_kind, holder, target_day, corrected_pos, adjusted_pos, newest, newest_of_target_day, "+aggregateColumns)

// insertRow returns a row of insertEntry.
func (e *entry) insertRow(game string) []any {
	return append([]any{
		game, e.Pos, e.ID, string(e.Kind), e.Day, e.CommittedAt, e.matchID, string(e.HolderKind), e.Holder,
		e.TargetDay, e.correctedPos, e.adjustedPos, e.Newest, e.NewestOfTargetDay,
	}, aggregateValues(e.Aggregates)...)
}

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

func aggregatePointers(p *leaderboard.Aggregates) []any {
	return []any{&p.Score, &p.TimeMS, &p.LimitMS, &p.Matches, &p.Asked, &p.Answered, &p.Correct}
}

func negate(p leaderboard.Aggregates) leaderboard.Aggregates { return leaderboard.Aggregates{}.Sub(p) }

// isResult and isCancelled are SQL conditions on the entry e: it is a result; a correction
// has cancelled the result at {pos}.
const (
	isResult    = `e.kind = 'result'`
	isCancelled = `EXISTS (SELECT 1 FROM entries c WHERE c.game = e.game AND c.corrected_pos = {pos} AND c.corrected_pos > 0)`
)

// stillCounts is the SQL condition that the entry e is a result that was not cancelled.
var stillCounts = isResult + ` AND NOT ` + strings.ReplaceAll(isCancelled, "{pos}", "e.pos")

// bothParts returns the UNION ALL of a SELECT for the two parts of results: the entries of
// results, and the corrections that change their values. In the SELECT, {part} is the
// condition that the entry e is such a part. {pos} and {day} are the position and the day
// of the result.
func bothParts(text string) string {
	results := strings.NewReplacer("{part}", isResult, "{pos}", "e.pos", "{day}", "e.day")
	changes := strings.NewReplacer("{part}", "e.adjusted_pos > 0", "{pos}", "e.adjusted_pos", "{day}", "e.target_day")
	return results.Replace(text) + ` UNION ALL ` + changes.Replace(text)
}

// sumColumns are the columns of a leaderboard.Sum, in the order of scanSum.
const sumColumns = `holder_kind, holder, day, newest, committed_at, ` + aggregateColumns

// sumsTemplate is a SELECT that sums {parts} by holder and day.
var sumsTemplate = `
SELECT g.holder_kind, g.holder, g.day, g.newest, n.committed_at, ` + eachAggregate("g.@") + ` FROM (
    SELECT parts.game, parts.holder_kind, parts.holder, parts.day, MAX(parts.pos) AS newest, ` + eachAggregate("CAST(SUM(parts.@) AS BIGINT) AS @") + `
    FROM ({parts}) parts GROUP BY parts.game, parts.holder_kind, parts.holder, parts.day
) g JOIN entries n ON n.game = g.game AND n.pos = g.newest`

// sumsFrom returns a SELECT of the sums of results. from follows FROM, and selects the
// entries e: see bothParts.
func sumsFrom(from string) string {
	parts := bothParts(`SELECT e.game, e.holder_kind, e.holder, {day} AS day, {pos} AS pos, ` + eachAggregate("e.@") + ` FROM ` + from)
	return strings.ReplaceAll(sumsTemplate, "{parts}", parts)
}

// counted is the SQL condition that the entry e is a part of a result that was not cancelled.
const counted = `{part} AND NOT ` + isCancelled
