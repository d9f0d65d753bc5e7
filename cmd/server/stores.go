package main

import (
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/ledger"
)

// ledgerConfig returns the configuration of the ledger, with the time zone and the pair limit
// of each game.
func (c *config) ledgerConfig(log *slog.Logger) ledger.Config {
	zones := make(map[string]*time.Location, len(c.Games))
	pairs := make(map[string]int64, len(c.Games))
	for name, g := range c.Games {
		zones[name], pairs[name] = c.timeZone(name), int64(g.Duel.PairLimitPerDay)
	}
	return ledger.Config{URL: c.Database, Dir: c.Data, TimeZones: zones, PairDuelLimits: pairs, Logger: log}
}

// discardLog returns a logger that discards all messages, for commands that print their own
// results.
func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// isStoreUnavailable reports whether the database or Redis cannot serve requests at the moment.
// Then the request itself may be valid, and the client can retry it.
func isStoreUnavailable(err error) bool {
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) {
		return true
	}
	for _, condition := range []func(error) bool{
		ledger.IsUnavailable, redis.IsLoadingError, redis.IsReadOnlyError, redis.IsClusterDownError, redis.IsTryAgainError,
		redis.IsMasterDownError, redis.IsMaxClientsError, redis.IsOOMError, redis.IsNoReplicasError,
	} {
		if condition(err) {
			return true
		}
	}
	return false
}
