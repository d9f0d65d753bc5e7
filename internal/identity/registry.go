package identity

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/nickname"
)

// Config is what a registry is made of; all fields are needed where nothing else is said.
type Config struct {
	Tokens    *Tokens // whose games and clock are the registry's
	Players   Players
	Devices   Devices
	Names     Names
	Named     Named
	Bars      *Bars     // nil: nobody is barred
	Epoch     string    // of the ledger: a snapshot of another one is worth nothing
	Snapshots Snapshots // nil: none are kept
	Logger    *slog.Logger
	Registry  prometheus.Registerer

	Words  map[string]*nickname.Words // that no nickname of a game may hold; nil: all may
	Offers Offers                     // nil: suggestions are kept for nobody

	firstNames int // the size of a game's first filter, for tests
}

// Registry knows the players of all games. It is safe for concurrent use.
type Registry struct {
	*Tokens
	Config
	known    map[string]*knownNames
	follower *follower
	wishes   wishMetrics
	old      atomic.Bool // the ledger's nicknames are spelt by newer rules
}

// Open makes the registry of all games. Until Run has read their nicknames,
// beside serving, each name that is looked at is a question to the ledger.
func Open(c Config) *Registry {
	r := &Registry{Tokens: c.Tokens, Config: c, known: map[string]*knownNames{}, wishes: newWishMetrics(c.Registry)}
	for _, game := range c.Tokens.keys.games() {
		r.known[game] = newKnownNames(game)
	}
	r.follower = newFollower(c, r.known)
	return r
}

// Run keeps the views of nicknames in step with what other nodes give out, until
// ctx ends, and then keeps snapshots of them. It is called once at the most. It
// logs what fails and tries again. Without it nothing goes wrong but that every
// look at a nickname is a query.
func (r *Registry) Run(ctx context.Context) error {
	r.follower.run(ctx)
	return nil
}
