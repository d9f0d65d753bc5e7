package main

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"laststand/internal/ledger"
)

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
