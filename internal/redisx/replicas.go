package redisx

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// lookEvery is the time between two looks for replicas, lookTimeout bounds one.
const (
	lookEvery   = 10 * time.Second
	lookTimeout = 2 * time.Second
)

// Replicated says whether a master, any of a cluster's, has a replica that
// keeps up with it: where none has, nobody acknowledges a WAIT. It does not
// block; the answer is up to some ten seconds old. Embedded it is always false.
func (c *Conn) Replicated() bool { return c.replicated.Load() }

// watchReplicas looks at once and then until Close, which waits for it.
func (c *Conn) watchReplicas(ctx context.Context) {
	c.lookForReplicas(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		again := time.NewTicker(lookEvery)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				c.lookForReplicas(ctx)
			}
		}
	}()
	c.closers = append([]func() error{func() error { cancel(); <-ended; return nil }}, c.closers...)
}

// lookForReplicas asks every master. While one does not answer, what was known
// holds, unless another has a replica.
func (c *Conn) lookForReplicas(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var found atomic.Bool
	one := func(ctx context.Context, client redis.UniversalClient) error {
		info, err := client.Info(ctx, "replication").Result()
		if strings.Contains(info, "state=online") {
			found.Store(true)
		}
		return err
	}
	if err := eachMaster(ctx, c.Client, one); err == nil || found.Load() {
		c.replicated.Store(found.Load())
	}
}

// eachMaster calls f for the masters of a cluster, at the same time, or for the
// one there is.
func eachMaster(ctx context.Context, client redis.UniversalClient, f func(context.Context, redis.UniversalClient) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return f(ctx, client)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
}
