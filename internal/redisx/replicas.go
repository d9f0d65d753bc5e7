package redisx

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/timer"
)

// Interval and timeout of checks for replicas.
const (
	replicaCheckInterval = 10 * time.Second
	replicaCheckTimeout  = 2 * time.Second
)

// HasReplicas reports whether at least one master has a replica that is online. Without
// a replica, no server can acknowledge a WAIT. HasReplicas does not block; the answer is
// up to about ten seconds old. It is always false for the embedded server.
func (c *Conn) HasReplicas() bool { return c.hasReplicas.Load() }

// watchReplicas checks for replicas once, and then starts a goroutine that checks
// regularly. Close ends the goroutine and waits for it.
func (c *Conn) watchReplicas(ctx context.Context) {
	c.checkReplicas(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var checks sync.WaitGroup
	checks.Go(func() { timer.Every(ctx, replicaCheckInterval, c.checkReplicas) })
	stop := func() error { cancel(); checks.Wait(); return nil }
	c.closeFuncs = append([]func() error{stop}, c.closeFuncs...)
}

// checkReplicas asks every master whether it has a replica. If a master does not answer,
// and no other master has a replica, the former result stays.
func (c *Conn) checkReplicas(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, replicaCheckTimeout)
	defer cancel()
	var hasReplica atomic.Bool
	checkOne := func(ctx context.Context, client redis.UniversalClient) error {
		info, err := client.Info(ctx, "replication").Result()
		if strings.Contains(info, "state=online") {
			hasReplica.Store(true)
		}
		return err
	}
	if err := eachMaster(ctx, c.Client, checkOne); err == nil || hasReplica.Load() {
		c.hasReplicas.Store(hasReplica.Load())
	}
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
