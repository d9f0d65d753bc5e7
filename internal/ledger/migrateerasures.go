package ledger

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
)

// erasureTables are what erasures need. erasure_key is the key of the hashes by
// which the subjects of erased players are remembered. opaque is the id of an erased
// player's results, beside the hash of the erased subject. erasures are under way: subject is wiped from all else first, and
// then with its row. first_pos and last_pos are those of the moves on the boards, 0
// before; ended_at is when only the wait for lagging nodes was left.
var erasureTables = []string{
	`ALTER TABLE about ADD COLUMN erasure_key TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE accounts ADD COLUMN opaque TEXT NOT NULL DEFAULT ''`,
	`CREATE TABLE erasures (
    game      TEXT   NOT NULL,
    subject   TEXT   NOT NULL,
    opaque    TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    first_pos BIGINT NOT NULL DEFAULT 0,
    last_pos  BIGINT NOT NULL DEFAULT 0,
    ended_at  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (game, subject)
)`,
	`CREATE INDEX erasures_at ON erasures (ended_at, at)`,
}

// dropErasures leaves hashes where subjects were: an older program then lets an
// erased subject begin anew. A move on the boards turns to the day that it is.
var dropErasures = []string{
	`UPDATE entries SET kind = 'day.turn', whose = '', holder = '', of_day = '' WHERE kind = 'move'`,
	`DROP TABLE erasures`,
	`ALTER TABLE accounts DROP COLUMN opaque`,
	`ALTER TABLE about DROP COLUMN erasure_key`,
}

const (
	selectPlainErased = `SELECT game, sub FROM accounts WHERE player = '' AND sub NOT LIKE '#%' LIMIT 500`

	hasEntries = `SELECT EXISTS (SELECT 1 FROM entries WHERE game = $1 AND whose = 'player' AND holder = $2)
OR EXISTS (SELECT 1 FROM seats WHERE game = $1 AND player = $2)`
)

// keepErasures is the migration that makes the tables of erasures, and has
// subjects erased by an older program wiped too.
func (l *Ledger) keepErasures() *goose.Migration {
	run := func(statements []string) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			for _, statement := range statements {
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	up := run(erasureTables)
	tables := up.RunTx
	up.RunTx = func(ctx context.Context, tx *sql.Tx) error {
		if err := tables(ctx, tx); err != nil {
			return err
		}
		key, err := l.eraserIn(ctx, tx)
		if err != nil {
			return err
		}
		return l.wipePlain(ctx, tx, key)
	}
	return goose.NewGoMigration(25, up, run(dropErasures))
}

// wipePlain begins the erasure anew of all subjects that are kept as they are. It
// cannot tell guests from an operator's players whose subjects look like guests':
// both get an opaque id if they have results.
func (l *Ledger) wipePlain(ctx context.Context, tx *sql.Tx, key eraser) error {
	for {
		var page []claim
		err := scanAll(func(rows *sql.Rows) error {
			var c claim
			err := rows.Scan(&c.game, &c.text)
			page = append(page, c)
			return err
		})(tx.QueryContext(ctx, selectPlainErased))
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			own := false
			if err := tx.QueryRowContext(ctx, hasEntries, c.game, c.text).Scan(&own); err != nil {
				return err
			}
			if err := l.wipe(ctx, tx, wiping{key, c.game, c.text, own}); err != nil {
				return err
			}
		}
	}
}
