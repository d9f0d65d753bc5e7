package identity

import (
	"context"
)

// Registry knows the players of all games. It is safe for concurrent use.
type Registry struct {
	*Tokens
	nicknames
	replicator *nameReplicator
}

// Open makes the registry of all games. Until Run has read the nicknames, each lookup of a
// nickname asks the ledger.
func Open(config Config) *Registry {
	if config.Revocations == nil {
		config.Revocations = &Revocations{}
	}
	views := map[string]*nameView{}
	for _, game := range config.Tokens.keys.games() {
		views[game] = &nameView{game: game, savedNames: -1}
	}
	return &Registry{
		Tokens:     config.Tokens,
		nicknames:  nicknames{Config: config, views: views, metrics: newNicknameMetrics(config.Registry)},
		replicator: newNameReplicator(config, views),
	}
}

// Run keeps the views of nicknames up to date with claims at other nodes until ctx ends.
// It then saves snapshots and returns nil. The caller must call it at most once. It logs
// failures and retries. Without Run, each lookup of a nickname is a query of the ledger.
func (r *Registry) Run(ctx context.Context) error {
	r.replicator.run(ctx)
	return nil
}
