package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"laststand/internal/identity"

	"github.com/prometheus/client_golang/prometheus"
)

func newPlayers(db *database, r prometheus.Registerer) *Players {
	return &Players{db, newRegistrationBatcher(db.registrationWorkers, r, func(ctx context.Context, batch []*registration) error {
		return db.inTx(ctx, func(tx *transaction) error { return insertNewPlayers(ctx, tx, batch) })
	})}
}

// CreateGuest implements identity.Players. It locks and writes even if the device is known,
// so callers try Guest first.
func (s *Players) CreateGuest(ctx context.Context, p identity.NewPlayer) (_ identity.Player, created bool, err error) {
	if p.DeviceHash == "" {
		return identity.Player{}, false, errors.New("ledger: create guest: the device hash is empty")
	}
	return s.findOrCreate(ctx, p, s.register, func() (identity.Player, error) { return s.Guest(ctx, p.Game, p.DeviceHash) })
}

// Guest implements identity.Devices.
func (s *Players) Guest(ctx context.Context, game, deviceHash string) (identity.Player, error) {
	return s.queryPlayer(ctx, selectPlayerByDevice, game, deviceHash)
}

// EnsurePlayer implements identity.Players. It locks and writes even if the player exists,
// so callers try Known first.
func (s *Players) EnsurePlayer(ctx context.Context, p identity.NewPlayer) (_ identity.Player, created bool, err error) {
	p.DeviceHash = ""
	return s.findOrCreate(ctx, p, s.registerSubject, func() (identity.Player, error) { return s.Known(ctx, p.Game, p.ID) })
}

// Player implements identity.Players.
func (s *Players) Player(ctx context.Context, game, id string) (identity.Player, error) {
	return s.queryPlayer(ctx, selectPlayerByID, game, id)
}

// PlayerBySkeleton returns the player with a skeleton, or identity.ErrNotFound.
func (s *Players) PlayerBySkeleton(ctx context.Context, game, skeleton string) (identity.Player, error) {
	return s.queryPlayer(ctx, selectPlayerBySkeleton, game, skeleton)
}

// findOrCreate creates the player. If the player exists already, it returns the result of find.
func (s *Players) findOrCreate(
	ctx context.Context, p identity.NewPlayer, create func(context.Context, identity.NewPlayer) (bool, error), find func() (identity.Player, error),
) (identity.Player, bool, error) {
	created, err := create(ctx, p)
	switch {
	case err != nil:
		return identity.Player{}, false, fmt.Errorf("ledger: create player: %w", err)
	case created:
		return identity.Player{Game: p.Game, ID: p.ID, Nickname: p.Nickname, JoinedAt: p.JoinedAt}, true, nil
	}
	existing, err := find()
	if errors.Is(err, identity.ErrNotFound) {
		return identity.Player{}, false, identity.ErrNicknameTaken
	}
	return existing, false, err
}

const (
	selectPlayerWhere = `
SELECT game, id, nickname, joined_at, rating, rated_matches, ` + aggregateColumns + `
FROM players WHERE game = $1 AND `
	selectPlayerByID       = selectPlayerWhere + `id = $2`
	selectPlayerByDevice   = selectPlayerWhere + `device_hash = $2`
	selectPlayerBySkeleton = selectPlayerWhere + `skeleton = $2`
)

func (s *Players) queryPlayer(ctx context.Context, query string, args ...any) (p identity.Player, err error) {
	var ratingJSON string
	found, err := scanOptional(s.queryRow(ctx, query, args...),
		append([]any{&p.Game, &p.ID, &p.Nickname, &p.JoinedAt, &ratingJSON, &p.RatedMatches}, aggregatePointers(&p.Totals)...)...)
	if err == nil && !found {
		return p, identity.ErrNotFound
	}
	if err == nil && ratingJSON != "" {
		err = json.Unmarshal([]byte(ratingJSON), &p.Rating)
	}
	describe(&err, "player")
	return p, err
}
