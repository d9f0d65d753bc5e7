package lobby

import (
	"context"
	"errors"
	"time"
)

const (
	sweepEvery  = 2 * time.Second
	finishAfter = 3000   // ms until a pairing counts as left by a dead node
	undoAfter   = 30_000 // ms until its match counts as one that cannot be created
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
	pairings, err := l.Store.Pairings(ctx, game)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range pairings {
		switch age := l.Now() - p.At; {
		case age >= undoAfter:
			errs = append(errs, l.undo(ctx, p))
		case age >= finishAfter:
			l.metrics.finished.Inc()
			errs = append(errs, l.start(ctx, p))
		}
	}
	return errors.Join(errs...)
}

// undo has the tickets of a pairing wait again. Before that its match is made
// impossible, so that a node that was stalled cannot create it any more; where
// it was created after all the pairing is done.
func (l *Lobby) undo(ctx context.Context, p Pairing) error {
	exists, err := l.Matches.Tombstone(ctx, p.Match)
	if err != nil {
		return err
	}
	if exists {
		return l.Store.Done(ctx, p)
	}
	undone, err := l.Store.Undo(ctx, p, l.Now())
	if undone {
		l.metrics.undone.Inc()
		l.Logger.Warn("a match could not be created; its players wait again", "match", p.Match)
	}
	return err
}
