package identity

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/nickname"
)

// Registry knows the players of all games. It is safe for concurrent use.
type Registry struct {
	*Tokens
	*nicknames
	replicator *nameReplicator
}

// Open makes the registry of all games. Until Run has read the nicknames, each lookup of a
// nickname asks the ledger.
func Open(config Config) *Registry {
	views := map[string]*nameView{}
	for _, game := range config.Tokens.config.Games {
		views[game] = newNameView(game)
	}
	replicator := &nameReplicator{Config: config, views: views}
	replicator.lastReadAt.Store(time.Now().UnixNano())
	replicator.metrics = newNameMetrics(config.Registry, views, replicator.timeSinceRead)
	return &Registry{
		Tokens:     config.Tokens,
		nicknames:  &nicknames{Config: config, views: views, metrics: newNicknameMetrics(config.Registry)},
		replicator: replicator,
	}
}

// Run keeps the views of nicknames up to date with claims at other nodes until ctx ends.
// It then saves snapshots and returns nil. The caller must call it at most once. It logs
// failures and retries. Without Run, each lookup of a nickname is a query of the ledger.
func (r *Registry) Run(ctx context.Context) error {
	r.replicator.run(ctx)
	return nil
}

// LedgerWentBack makes this node read all revocations, keys and nicknames again, because the
// ledger may have lost some at a time (epoch ms). Until then the known ones stay in force. For
// HoldTTL from that time, only their holders may claim the nicknames that were claimed in the last
// HoldTTL.
func (r *Registry) LedgerWentBack(at int64) {
	r.holdsUntil.Store(at + HoldTTL.Milliseconds())
	r.Revocations.mustReadAll.Store(true)
	for _, view := range r.replicator.views {
		view.markOutdated(causeWentBack)
	}
}

// Config configures a registry. All fields are required unless their comment says
// otherwise.
type Config struct {
	Tokens      *Tokens // the registry has the same games and clock
	Players     Players
	Devices     Devices
	Names       Names      // claims and looks up single nicknames
	NameSource  NameSource // lists all nicknames, for the views
	Revocations *Revocations
	Epoch       string    // id of the ledger's data; a snapshot with another epoch is ignored
	Snapshots   Snapshots // nil: no snapshots
	Logger      *slog.Logger
	Registry    prometheus.Registerer

	Words        map[string]*nickname.Words // by game, words that a nickname must not contain; nil: none
	Reservations NameReservations           // nil: suggestions are not reserved

	initialFilterCapacity int // number of names for which a view's filter has room at least; 0: defaultFilterCapacity; only tests set it
}
