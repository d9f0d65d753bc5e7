package leaderboard

import (
	"context"
	"errors"
	"fmt"
)

// After a change of the configuration, new boards are built. Until they are published,
// readers see the boards that were published last, and appliers keep these up to date.
// Their configuration is the fallback.

// withServedConfig calls read with the game's configuration. If no boards of it are
// served, it calls read again with the fallback. So read must return the answer of its
// last call.
func (r *Reader) withServedConfig(ctx context.Context, game string, read func(Config) error) error {
	newestConfig, known := r.games[game]
	if !known {
		return fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	err := read(newestConfig)
	if !errors.Is(err, ErrNotReady) && !errors.Is(err, ErrBadCursor) { // the cursor may belong to the fallback's boards
		return err
	}
	fallback, found, fallbackErr := fallbackConfig(ctx, r.source, newestConfig)
	if fallbackErr != nil {
		return fallbackErr
	}
	if !found {
		return err
	}
	err = read(fallback)
	if errors.Is(err, ErrNoWindow) || errors.Is(err, ErrBadQuery) && !errors.Is(err, ErrBadCursor) {
		return fmt.Errorf("%w: the boards of the new configuration are being built", ErrNotReady) // the request needs the new configuration
	}
	return err
}
