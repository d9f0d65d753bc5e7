package leaderboard

import (
	"context"
	"errors"
	"fmt"
)

// While boards of a changed configuration are built, those of the form that was
// published last are read, and kept up to date, in their stead.

// Forms knows by which configurations boards are served; a Store is one.
type Forms interface {
	Forms(ctx context.Context, game string) ([]Config, error)
}

// served has a question answered by the game's configuration, or else, while
// its boards are not served, by that of the form published last: never by both.
func (r *Reader) served(ctx context.Context, game string, answer func(Config) error) error {
	own, known := r.games[game]
	if !known {
		return fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	err := answer(own)
	if !errors.Is(err, ErrNotReady) && !errors.Is(err, ErrBadCursor) { // a cursor may be of the other form
		return err
	}
	other, found, lost := standIn(ctx, r.forms, own)
	if lost != nil {
		return lost
	}
	if !found {
		return err
	}
	err = answer(other)
	if errors.Is(err, ErrNoWindow) || errors.Is(err, ErrBadQuery) && !errors.Is(err, ErrBadCursor) {
		return fmt.Errorf("%w: the configuration has changed", ErrNotReady) // to have what the other had not
	}
	return err
}

// standIn returns the configuration of the form that was published last, which
// may be own's by now, in own's time zone; found false: none is served.
func standIn(ctx context.Context, served Forms, own Config) (other Config, found bool, err error) {
	forms, err := served.Forms(ctx, own.Game)
	if err != nil || len(forms) == 0 {
		return Config{}, false, err
	}
	other = forms[0]
	other.Game, other.Location = own.Game, own.Location
	return other, true, nil
}
