package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"laststand/internal/identity"
)

// CreateGuest gives the device's player, who keeps nickname and id, or creates
// one: one only, however many calls there are at once.
// identity.ErrNicknameTaken if the skeleton is another's, identity.ErrOldRules.
func (l *Ledger) CreateGuest(ctx context.Context, p identity.NewPlayer) (_ identity.Player, created bool, err error) {
	if p.DeviceHash == "" {
		return identity.Player{}, false, errors.New("ledger: a guest without a device")
	}
	return l.ensure(ctx, p, func() (identity.Player, error) {
		return l.Guest(ctx, p.Game, p.DeviceHash)
	})
}

// Guest gives the player of a device, or identity.ErrNotFound.
func (l *Ledger) Guest(ctx context.Context, game, deviceHash string) (identity.Player, error) {
	return l.player(ctx, selectPlayerByDevice, game, deviceHash)
}

// EnsurePlayer gives the player whom that id speaks for or creates one, for a
// token that an operator's own login service made. identity.ErrNicknameTaken and
// identity.ErrOldRules as for CreateGuest, identity.ErrErased.
func (l *Ledger) EnsurePlayer(ctx context.Context, p identity.NewPlayer) (_ identity.Player, created bool, err error) {
	p.DeviceHash = ""
	return l.ensure(ctx, p, func() (identity.Player, error) { return l.Known(ctx, p.Game, p.ID) })
}

// Player gives a player, or identity.ErrNotFound.
func (l *Ledger) Player(ctx context.Context, game, id string) (identity.Player, error) {
	return l.player(ctx, selectPlayerByID, game, id)
}

// PlayerNamed gives the player who holds a skeleton, or identity.ErrNotFound.
func (l *Ledger) PlayerNamed(ctx context.Context, game, skeleton string) (identity.Player, error) {
	return l.player(ctx, selectPlayerNamed, game, skeleton)
}

const insertPlayer = `
INSERT INTO players (game, id, device_hash, nickname, skeleton, named_at, joined_at)
SELECT $1, $2, $3, $4, $5, {now}, $6 WHERE ` + speltBy + `$7 {share}) ON CONFLICT DO NOTHING`

// ensure finds the player or inserts; who loses the race for the device or the
// id finds the winner's.
func (l *Ledger) ensure(ctx context.Context, p identity.NewPlayer, find func() (identity.Player, error)) (identity.Player, bool, error) {
	known, err := find()
	if !errors.Is(err, identity.ErrNotFound) {
		return known, false, err
	}
	inserted, err := l.insert(ctx, p)
	if err != nil {
		return identity.Player{}, false, fmt.Errorf("ledger: create player: %w", err)
	}
	known, err = find()
	if errors.Is(err, identity.ErrNotFound) && inserted == 0 {
		return identity.Player{}, false, l.unclaimed(ctx, identity.ErrNicknameTaken)
	}
	return known, inserted > 0, err
}

// insert inserts a player, unless device, id or skeleton are taken. The id of a
// player of an operator's is first claimed among accounts: once one has been a
// guest's account, or erased, it is no player's own any more.
func (l *Ledger) insert(ctx context.Context, p identity.NewPlayer) (inserted int64, err error) {
	if p.DeviceHash != "" {
		return l.exec(ctx, insertPlayer, p.Game, p.ID, p.DeviceHash, p.Nickname, p.Skeleton, p.At, l.rules)
	}
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		for _, step := range []struct {
			statement string
			args      []any
		}{
			{insertAccount, []any{p.Game, p.ID, p.ID}},
			{insertPlayer, []any{p.Game, p.ID, nil, p.Nickname, p.Skeleton, p.At, l.rules}},
		} {
			done, err := tx.ExecContext(ctx, l.sql(step.statement), step.args...)
			if err == nil {
				inserted, err = done.RowsAffected()
			}
			if err == nil && inserted == 0 {
				err = errTaken
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errTaken) {
		return 0, nil
	}
	return inserted, err
}

// errTaken undoes the claim of an id.
var errTaken = errors.New("taken")

const (
	selectPlayer = `
SELECT game, id, nickname, joined_at, rating, rated, score, time_ms, limit_ms, matches, asked, answered, correct
FROM players WHERE game = $1 AND `
	selectPlayerByID     = selectPlayer + `id = $2`
	selectPlayerByDevice = selectPlayer + `device_hash = $2`
	selectPlayerNamed    = selectPlayer + `skeleton = $2`
)

func (l *Ledger) player(ctx context.Context, query string, args ...any) (identity.Player, error) {
	var p identity.Player
	var rated string
	t := &p.Totals
	err := l.read.QueryRowContext(ctx, query, args...).Scan(
		&p.Game, &p.ID, &p.Nickname, &p.JoinedAt, &rated, &p.Rated,
		&t.Score, &t.TimeMS, &t.LimitMS, &t.Matches, &t.Asked, &t.Answered, &t.Correct)
	if errors.Is(err, sql.ErrNoRows) {
		return identity.Player{}, identity.ErrNotFound
	}
	if err == nil && rated != "" {
		err = json.Unmarshal([]byte(rated), &p.Rating)
	}
	if err != nil {
		return identity.Player{}, fmt.Errorf("ledger: player: %w", err)
	}
	return p, nil
}

// exec runs one writing statement, on disk once it returns, and counts the rows
// that it changed.
func (l *Ledger) exec(ctx context.Context, text string, args ...any) (int64, error) {
	done, err := l.write.ExecContext(ctx, l.sql(text), args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}
