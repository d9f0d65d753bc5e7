package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config is what a registry is made of; all fields are needed.
type Config struct {
	Tokens  *Tokens // whose games and clock are the registry's
	Players Players
	Devices Devices
	Names   Names
	Bars    *Bars // nil: nobody is barred
	Logger  *slog.Logger
}

// Registry knows the players of all games. It is safe for concurrent use.
type Registry struct {
	*Tokens
	Config
	known map[string]*knownNames
}

const (
	rereadEvery = 5 * time.Second
	// rereadOverlap is how far back names are read again: they commit out of
	// the order of their instants, and clocks differ.
	rereadOverlap = time.Minute
)

// Open reads the nicknames of all games. Run keeps them up to date.
func Open(ctx context.Context, c Config) (*Registry, error) {
	r := &Registry{Tokens: c.Tokens, Config: c, known: map[string]*knownNames{}}
	for _, game := range c.Tokens.keys.games() {
		r.known[game] = newKnownNames()
	}
	if err := r.reread(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Run reads every few seconds what nicknames other nodes have given out, until
// ctx ends. It logs what fails and tries again. Without it nothing goes wrong
// but that a nickname can be told free that another node has given out.
func (r *Registry) Run(ctx context.Context) error {
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := r.reread(ctx); err != nil && ctx.Err() == nil {
			r.Logger.WarnContext(ctx, "nicknames of other nodes could not be read; the next round makes up for it", "error", err)
		}
	}
}

func (r *Registry) reread(ctx context.Context) error {
	var errs []error
	for game, names := range r.known {
		if err := names.reread(ctx, r.Names, game, r.now()); err != nil {
			errs = append(errs, fmt.Errorf("identity: nicknames of %s: %w", game, err))
		}
	}
	return errors.Join(errs...)
}
