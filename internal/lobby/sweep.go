package lobby

import (
	"context"
	"errors"
	"time"
)

const (
	sweepEvery      = 2 * time.Second
	takeOverAfterMS = 3000   // ms until a pairing counts as left by a dead node
	rollBackAfterMS = 30_000 // ms until its match counts as one that cannot be created
)

// Run finishes or undoes the pairings that have no match yet, until ctx ends.
func (l *Lobby) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for game := range l.Games {
			if err := l.sweep(ctx, game); err != nil && !errors.Is(err, context.Canceled) {
				l.Logger.Warn("pairings could not be swept; the next round makes up for it", "game", game, "error", err)
			}
		}
	}
}

// sweep sees to what was paired a while ago and has no match yet.
func (l *Lobby) sweep(ctx context.Context, game string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pairings, err := l.Store.ListPairings(ctx, game)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pairings {
		switch age := l.Now() - p.At; {
		case age >= rollBackAfterMS:
			errs = append(errs, l.rollBack(ctx, p))
		case age >= takeOverAfterMS:
			l.metrics.takenOver.Inc()
			errs = append(errs, l.startMatch(ctx, p))
		}
	}
	return errors.Join(errs...)
}

// rollBack has the tickets of a pairing wait again. Before that its match is made
// impossible, so that a node that was stalled cannot create it any more; where
// it was created after all the pairing is done.
func (l *Lobby) rollBack(ctx context.Context, p Pairing) error {
	exists, err := l.Matches.Tombstone(ctx, p.Match)
	if err != nil {
		return err
	}
	if exists {
		return l.Store.CompletePairing(ctx, p)
	}
	rolledBack, err := l.Store.RollBackPairing(ctx, p, l.Now())
	if rolledBack {
		l.metrics.rolledBack.Inc()
		l.Logger.Warn("a match could not be created; its players wait again", "match", p.Match)
	}
	return err
}
