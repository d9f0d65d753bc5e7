package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/timer"
)

// Players creates and finds players, and changes their devices.
type Players struct {
	*database
	registrations *timer.Batcher[*registration]
}

func newPlayers(db *database, r prometheus.Registerer) *Players {
	return &Players{db, newRegistrationBatcher(db.registrationWorkers, r, func(ctx context.Context, batch []*registration) error {
		return db.inTx(ctx, func(tx *transaction) error {
			insertNewPlayers(ctx, tx, batch)
			return nil
		})
	})}
}

// CreateGuest implements identity.Players. It locks and writes even if the device is known,
// so callers try Guest first.
func (s *Players) CreateGuest(ctx context.Context, p identity.NewPlayer) (_ identity.Player, created bool, err error) {
	if p.DeviceHash == "" {
		return identity.Player{}, false, errors.New("ledger: create guest: the device hash is empty")
	}
	if created, err = s.register(ctx, p); err != nil || created {
		return newPlayer(p), created, err
	}
	existing, err := s.Guest(ctx, p.Game, p.DeviceHash)
	return existing, false, takenUnlessFound(err)
}

// EnsurePlayer implements identity.Players. It locks and writes even if the player exists,
// so callers try Known first.
func (s *Players) EnsurePlayer(ctx context.Context, p identity.NewPlayer) (_ identity.Player, created bool, err error) {
	p.DeviceHash = ""
	if created, err = s.registerSubject(ctx, p); err != nil || created {
		return newPlayer(p), created, err
	}
	existing, err := s.Known(ctx, p.Game, p.ID)
	return existing, false, takenUnlessFound(err)
}

func newPlayer(p identity.NewPlayer) identity.Player {
	return identity.Player{Game: p.Game, ID: p.ID, Nickname: p.Nickname, JoinedAt: p.JoinedAt}
}

// takenUnlessFound returns why a player was not created, from the error of the search for an
// existing one.
func takenUnlessFound(err error) error {
	if errors.Is(err, identity.ErrNotFound) {
		return identity.ErrNicknameTaken
	}
	return err
}

const (
	selectPlayerWhere = `
SELECT game, id, nickname, joined_at, rating, rated_matches, ` + aggregateColumns + `
FROM players WHERE game = $1 AND `
	selectPlayerByID       = selectPlayerWhere + `id = $2`
	selectPlayerByDevice   = selectPlayerWhere + `device_hash = $2`
	selectPlayerBySkeleton = selectPlayerWhere + `skeleton = $2`
)

// Guest implements identity.Devices.
func (s *Players) Guest(ctx context.Context, game, deviceHash string) (identity.Player, error) {
	return s.queryPlayer(ctx, selectPlayerByDevice, game, deviceHash)
}

// Player implements identity.Players.
func (s *Players) Player(ctx context.Context, game, id string) (identity.Player, error) {
	return s.queryPlayer(ctx, selectPlayerByID, game, id)
}

// Seat returns the seat that a player gets in a match, or identity.ErrNotFound.
func (s *Players) Seat(ctx context.Context, game, id string) (match.Seat, error) {
	rating := match.DefaultRating()
	seat := match.Seat{Player: id, Rating: &rating}
	found, err := s.get(ctx, into(&seat.Nickname, asJSON(&rating)), `SELECT nickname, rating FROM players WHERE game = $1 AND id = $2`, game, id)
	if err != nil || !found {
		return match.Seat{}, cmp.Or(err, identity.ErrNotFound)
	}
	return seat, nil
}

// PlayerBySkeleton returns the player with a skeleton, or identity.ErrNotFound.
func (s *Players) PlayerBySkeleton(ctx context.Context, game, skeleton string) (identity.Player, error) {
	return s.queryPlayer(ctx, selectPlayerBySkeleton, game, skeleton)
}

func (s *Players) queryPlayer(ctx context.Context, query, game, key string) (p identity.Player, err error) {
	pointers := append(into(&p.Game, &p.ID, &p.Nickname, &p.JoinedAt, asJSON(&p.Rating), &p.RatedMatches), aggregatePointers(&p.Totals)...)
	found, err := s.get(ctx, pointers, query, game, key)
	if err == nil && !found {
		err = identity.ErrNotFound
	}
	return p, err
}

var errDeviceInUse = fmt.Errorf("%w: the new one is in use already; generate another", identity.ErrBadDevice)

// RotateDevice implements identity.Devices.
func (s *Players) RotateDevice(ctx context.Context, game, player, oldHash, newHash string) error {
	n, err := s.exec(ctx, `UPDATE players SET device_hash = $4 WHERE game = $1 AND id = $2 AND device_hash = $3`, game, player, oldHash, newHash)
	switch {
	case isUniqueViolation(err):
		return errDeviceInUse
	case err != nil || n > 0:
		return err
	}
	guest, err := s.Guest(ctx, game, newHash) // a repeated call has changed the hash before
	switch {
	case err == nil && guest.ID == player:
		return nil
	case err == nil || errors.Is(err, identity.ErrNotFound):
		return identity.ErrWrongDevice
	}
	return err
}

// ResetDevice implements identity.Devices.
func (s *Players) ResetDevice(ctx context.Context, game, id, hash string) (player string, err error) {
	err = inAccessChange(ctx, s.database, func(c *accessChange) error {
		linkedPlayer, found := accountPlayer(ctx, c.transaction, game, id)
		if found && linkedPlayer == id {
			return fmt.Errorf("%w: it has no device", identity.ErrNotGuest)
		}
		if player = id; found {
			player = linkedPlayer
		}
		if c.exec(ctx, `UPDATE players SET device_hash = $3 WHERE game = $1 AND id = $2`, game, player, hash) == 0 {
			return identity.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return player, nil
}
