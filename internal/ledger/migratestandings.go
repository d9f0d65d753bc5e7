package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pressly/goose/v3"

	"laststand/internal/match"
)

// migratedMatches is how many matches the migration reads at a time.
const migratedMatches = 200

const (
	selectResults = `SELECT game, id, result FROM matches WHERE (game, id) > ($1, $2) ORDER BY game, id LIMIT $3`

	fillSeat = `
WITH v (` + seatColumns + `) AS ({rows})
UPDATE seats SET seq = v.seq, team = v.team, answered = v.answered, asked = v.asked, time_ms = v.time_ms,
    rating = v.rating, rating_delta = v.rating_delta
FROM v WHERE seats.game = v.game AND seats.player = v.player AND seats.over_at = v.over_at AND seats.match_id = v.match_id`
)

// splitResults is the migration that moves standings out of the records of
// matches into seats, and leaves nicknames out. The way back leaves standings
// where they are: an older program then shows its old matches without them.
func (l *Ledger) splitResults() *goose.Migration {
	up := &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		game, id := "", ""
		for {
			page, err := resultsAfter(ctx, tx, game, id)
			if err != nil || len(page) == 0 {
				return err
			}
			if err := l.split(ctx, tx, page); err != nil {
				return err
			}
			game, id = page[len(page)-1].Game, page[len(page)-1].Match
		}
	}}
	return goose.NewGoMigration(24, up, &goose.GoFunc{RunTx: func(context.Context, *sql.Tx) error { return nil }})
}

func resultsAfter(ctx context.Context, tx *sql.Tx, game, id string) (page []match.Result, err error) {
	err = scanAll(func(rows *sql.Rows) error {
		var game, id, text string
		if err := rows.Scan(&game, &id, &text); err != nil {
			return err
		}
		var r match.Result
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return fmt.Errorf("match %s of %s: %w", id, game, err)
		}
		r.Game, r.Match = game, id
		page = append(page, r)
		return nil
	})(tx.QueryContext(ctx, selectResults, game, id, migratedMatches))
	return page, err
}

func (l *Ledger) split(ctx context.Context, tx *sql.Tx, page []match.Result) error {
	var seats, summaries [][]any
	for i := range page {
		r := &page[i]
		if len(r.Standings) == 0 { // split already, by a run of this migration before it was taken back
			continue
		}
		text, err := json.Marshal(r.Summary())
		if err != nil {
			return err
		}
		summaries = append(summaries, []any{r.Game, r.Match, string(text)})
		for j := range r.Standings {
			if !r.Standings[j].Bot {
				seats = append(seats, seatRow(r.Game, r, j))
			}
		}
	}
	bulk := l.bulk(tx)
	if err := bulk.run(ctx, fillSeat, seats, nil); err != nil {
		return fmt.Errorf("seats: %w", err)
	}
	return bulk.run(ctx, updateMatch, summaries, nil)
}
