package redisx

import "github.com/redis/go-redis/v9/logging"

// The library prints what it also returns, on a logger of its own.
func init() { logging.Disable() }
