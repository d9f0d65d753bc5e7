package redisx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrVersion means that a server is older than Redis 7.0. Errors of Open wrap it.
var ErrVersion = errors.New("not Redis 7.0 or newer")

// openTimeout is the time limit for the first answers of all servers together.
const openTimeout = 5 * time.Second

// checkServers checks the version and settings of every master.
func checkServers(ctx context.Context, client redis.UniversalClient, addr address, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	checkOne := func(ctx context.Context, c redis.UniversalClient) error {
		info, err := c.InfoMap(ctx).Result()
		if err != nil {
			return err
		}
		warnEviction(info["Memory"]["maxmemory_policy"], addr, log)
		return checkVersion(info["Server"]["redis_version"])
	}
	if err := eachMaster(ctx, client, checkOne); err != nil {
		return fmt.Errorf("redis at %s: %w; %s", addr, err, remedy(err, addr))
	}
	return nil
}

// remedy returns what an operator can do about an error of the first connection. It is
// the end of an error text.
func remedy(err error, addr address) string {
	switch text := err.Error(); {
	case errors.Is(err, ErrVersion):
		return "upgrade it or name another with --redis"
	case redis.IsAuthError(err) || strings.HasPrefix(text, "WRONGPASS") || strings.HasPrefix(text, "NOAUTH"):
		return "correct the user and password in --redis"
	case redis.IsPermissionError(err):
		return "give its user the permission to run INFO and the commands on its keys"
	case strings.Contains(text, "cluster support disabled"):
		return "it is no cluster: give one address without ?cluster=true in --redis"
	}
	if addr.tls {
		return "start it or correct --redis: does it speak TLS? If not, write redis://"
	}
	return "start it, correct --redis, or leave --redis out for the embedded one"
}

func checkVersion(version string) error {
	major, err := strconv.Atoi(strings.SplitN(version, ".", 2)[0])
	if err != nil {
		return fmt.Errorf("%w: it names its version %q", ErrVersion, version)
	}
	if major < 7 {
		return fmt.Errorf("%w: it is %s", ErrVersion, version)
	}
	return nil
}

// warnEviction logs a warning if the server would evict running matches when its memory
// is full.
func warnEviction(policy string, addr address, log *slog.Logger) {
	if policy == "" || policy == "noeviction" {
		return
	}
	log.Warn("redis may evict running matches when its memory is full; set maxmemory-policy to noeviction",
		"redis", addr.String(), "maxmemory_policy", policy)
}

// eachMaster calls f for all masters of a cluster concurrently, or for the single
// server.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
}
