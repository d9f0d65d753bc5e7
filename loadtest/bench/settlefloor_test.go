package bench_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// committed is the number of results in one ledger transaction of the settler.
const committed = 256

// insert is a set of rows for a table of the ledger.
type insert struct {
	table   string
	columns []string
	rows    [][]any
}

// writer writes rows in one transaction.
type writer func(context.Context, []insert) error

// settleFloor writes as many results, in transactions of the same size, and adds the
// players to as many sorted sets. It writes no totals, ratings or heads. This is the cost
// of settlement without lookups, comparisons and notifications.
func settleFloor(b *testing.B, write writer, rdb *redis.Client, round int) {
	began := time.Now()
	for from := 0; from < settled; from += committed {
		some := make([]match.Result, min(committed, settled-from))
		for i := range some {
			some[i] = duel(fmt.Sprint("floor", round, ".", from+i), from+i)
		}
		inserts, err := bareRows(some, int64(2*(round*settled+from)))
		if err == nil {
			err = write(b.Context(), inserts)
		}
		if err == nil {
			err = bareBoards(b.Context(), rdb, inserts[1].rows)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*settled/time.Since(began).Seconds(), "rows/s")
}

// bareRows returns the rows of matches, entries and seats for some duels of a game that the
// ledger does not know.
func bareRows(results []match.Result, pos int64) ([]insert, error) {
	const game = "floor"
	matches := insert{table: "matches", columns: []string{"game", "id", "summary"}}
	entries := insert{table: "entries", columns: strings.Split(
		"game pos id kind day committed_at match_id holder score time_ms limit_ms matches asked answered correct holder_kind "+
			"target_day corrected_pos newest newest_of_target_day", " ")}
	seats := insert{table: "seats", columns: strings.Split(
		"game player over_at match_id mode rank score correct player_count standing_index team answered asked time_ms rating rating_delta", " ")}
	for _, r := range results {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		matches.rows = append(matches.rows, []any{game, r.Match, string(text)})
		for i, s := range r.Standings {
			pos++
			entries.rows = append(entries.rows, []any{
				game, pos, fmt.Sprint("e", pos), "result", "2026-11-20", r.OverAt, r.Match, s.Player, s.Score, s.TimeMS, s.LimitMS, int64(1),
				int64(s.Asked), int64(s.Answered), int64(s.Correct), "player", "", int64(0), int64(0), int64(0),
			})
			seats.rows = append(seats.rows, []any{
				game, s.Player, r.OverAt, r.Match, string(r.Mode), int64(s.Rank), s.Score, int64(s.Correct), int64(len(r.Standings)),
				int64(i), "", int64(s.Answered), int64(s.Asked), s.TimeMS, int64(0), int64(0),
			})
		}
	}
	return []insert{matches, entries, seats}, nil
}

// bareBoards adds the players with entries to four sorted sets: all, the day, and both sets
// of a rolling window.
func bareBoards(ctx context.Context, rdb *redis.Client, entries [][]any) error {
	members := make([]redis.Z, len(entries))
	for i, e := range entries {
		members[i] = redis.Z{Score: float64(e[8].(int64)), Member: e[7]}
	}
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for board := range 4 {
			p.ZAdd(ctx, fmt.Sprint("floor:", board), members...)
		}
		return nil
	})
	return err
}

// copies returns a writer that uses COPY.
func copies(b *testing.B, url string) writer {
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return func(ctx context.Context, inserts []insert) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, in := range inserts {
				if _, err := tx.CopyFrom(ctx, pgx.Identifier{in.table}, in.columns, pgx.CopyFromRows(in.rows)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// prepared returns a writer that inserts row by row with prepared statements. Each commit
// is on disk.
func prepared(b *testing.B, dir string) writer {
	db, err := openFile(dir)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(b.Context(), "PRAGMA synchronous = FULL"); err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, inserts []insert) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, in := range inserts {
			if err := insertAll(ctx, tx, in); err != nil {
				_ = tx.Rollback() // err has the cause
				return err
			}
		}
		return tx.Commit()
	}
}

func insertAll(ctx context.Context, tx *sql.Tx, in insert) error {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(in.columns)), ", ")
	stmt, err := tx.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", in.table, strings.Join(in.columns, ", "), marks))
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, row := range in.rows {
		if _, err := stmt.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return nil
}
