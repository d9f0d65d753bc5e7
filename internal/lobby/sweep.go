package lobby

import (
	"context"
	"errors"
	"time"

	"laststand/internal/timer"
)

const (
	sweepInterval   = 2 * time.Second
	takeOverAfterMS = 3000   // age of a pairing at which its node counts as dead
	rollBackAfterMS = 30_000 // age of a pairing at which its match counts as impossible to create
)

// Run handles old pairings of all games that have no match yet, until ctx ends. It
// creates their matches or rolls them back. It returns nil.
func (l *Lobby) Run(ctx context.Context) error {
	timer.Every(ctx, sweepInterval, func(ctx context.Context) {
		for game := range l.Games {
			if err := l.sweep(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				l.Logger.Warn("pairing sweep failed; the next round retries", "game", game, "error", err)
			}
		}
	})
	return nil
}

// sweep handles old pairings of a game that have no match yet.
func (l *Lobby) sweep(ctx context.Context, game string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pairings, err := l.Pairings.ListPairings(ctx, game)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pairings {
		switch age := l.Now() - p.PairedAt; {
		case age >= rollBackAfterMS:
			errs = append(errs, l.rollBack(ctx, p))
		case age >= takeOverAfterMS:
			l.metrics.takenOver.Inc()
			errs = append(errs, l.startMatch(ctx, p))
		}
	}
	return errors.Join(errs...)
}

// rollBack makes the tickets of a pairing wait again. It first tombstones the
// match, so that a stalled node cannot create it later. If the match exists,
// the pairing is complete.
func (l *Lobby) rollBack(ctx context.Context, p Pairing) error {
	exists, err := l.Matches.Tombstone(ctx, p.Match)
	if err != nil {
		return err
	}
	if exists {
		return l.Pairings.CompletePairing(ctx, p)
	}
	rolledBack, err := l.Pairings.RollBackPairing(ctx, p, l.Now())
	if rolledBack {
		l.metrics.rolledBack.Inc()
		l.Logger.Warn("match creation failed; its tickets wait again", "match", p.Match)
	}
	return err
}
