package redisx

import "github.com/redis/go-redis/v9/logging"

// The library logs errors that it also returns.
func init() { logging.Disable() }
