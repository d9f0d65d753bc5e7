package ledger

import (
	"context"
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

func playerEntries(r *match.Result) []*entry {
	var all []*entry
	for s := range humanStandings(r) {
		all = append(all, resultEntry(r, leaderboard.Players, s.Player, aggregatesOf(s)))
	}
	return all
}

// teamEntries returns the entries of the teams of a counting result. An entry has the
// team's own score, and otherwise the sums of the team's players. A team without players
// has no entry.
func teamEntries(r *match.Result) []*entry {
	if len(r.Teams) == 0 {
		return nil
	}
	sums := map[string]leaderboard.Aggregates{}
	for s := range humanStandings(r) {
		sums[s.Team] = sums[s.Team].Add(aggregatesOf(s))
	}
	var all []*entry
	for _, t := range r.Teams {
		aggregates, hasPlayers := sums[t.ID]
		if !hasPlayers {
			continue
		}
		aggregates.Score, aggregates.Matches = t.Score, 1
		all = append(all, resultEntry(r, leaderboard.Teams, t.ID, aggregates))
	}
	return all
}

func resultEntry(r *match.Result, kind leaderboard.Kind, holder string, p leaderboard.Aggregates) *entry {
	return &entry{matchID: r.Match, Row: leaderboard.Row{Kind: leaderboard.ResultRow, HolderKind: kind, Holder: holder, Aggregates: p}}
}

func aggregatesOf(s *match.Standing) leaderboard.Aggregates {
	return leaderboard.Aggregates{
		Score: s.Score, TimeMS: s.TimeMS, LimitMS: s.LimitMS, Matches: 1,
		Asked: int64(s.Asked), Answered: int64(s.Answered), Correct: int64(s.Correct),
	}
}

const entryColumns = `game, pos, id, kind, day, committed_at, match_id, holder_kind, holder, target_day, corrected_pos, adjusted_pos, newest, newest_of_target_day, ` + aggregateColumns

const insertEntry = `
WITH v (` + entryColumns + `) AS ({rows})
INSERT INTO entries (` + entryColumns + `) SELECT ` + entryColumns + ` FROM v WHERE true`

func (e *entry) insertRow(game string) []any {
	return append([]any{game, e.Pos, e.ID, string(e.Kind), e.Day, e.CommittedAt, e.matchID, string(e.HolderKind), e.Holder,
		e.TargetDay, e.correctedPos, e.adjustedPos, e.Newest, e.NewestOfTargetDay}, aggregateValues(e.Aggregates)...)
}

// selectEntries also selects the former id of the holder of a move entry, if the ledger
// still has it (see ErasureRetention).
const selectEntries = `
SELECT pos, id, kind, day, committed_at, holder_kind, holder, target_day, newest, newest_of_target_day, CASE WHEN kind = 'move' THEN COALESCE((
    SELECT e.subject FROM erasures e WHERE e.game = $1 AND e.opaque_id = entries.holder LIMIT 1), '') ELSE '' END, ` + aggregateColumns + `
FROM entries WHERE game = $1 AND pos > $2 ORDER BY pos LIMIT $3`

// ReadRows implements leaderboard.Ledger.
func (b *Leaderboards) ReadRows(ctx context.Context, game string, after int64, limit int) (_ []leaderboard.Row, err error) {
	defer describe(&err, "rows of %s", game)
	all, err := collect(func(r *leaderboard.Row) []any {
		return append([]any{&r.Pos, &r.ID, &r.Kind, &r.Day, &r.CommittedAt, &r.HolderKind, &r.Holder,
			&r.TargetDay, &r.Newest, &r.NewestOfTargetDay, &r.FormerHolder}, aggregatePointers(&r.Aggregates)...)
	})(b.query(ctx, selectEntries, game, after, limit))
	return all, err
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
