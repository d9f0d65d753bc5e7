package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/loadtest/players"
)

// measureIdle measures the memory of connections at rest on each kind of server. Then it
// closes them and measures a storm of connections.
func measureIdle(ctx context.Context, o connectionsOptions, r connectionTables) error {
	kinds := []struct {
		name  string
		start func() (*cluster, error)
	}{
		{"gorilla, leanest", func() (*cluster, error) { return startCluster(ctx, clusterOptions{floor: []string{}}) }},
		{"laststand", func() (*cluster, error) { return o.startNodes(ctx, 1) }},
	}
	for _, k := range kinds {
		c, err := k.start()
		if err != nil {
			return err
		}
		if err := errors.Join(o.measureIdleServer(ctx, r, k.name, c), c.stop()); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func (o connectionsOptions) measureIdleServer(ctx context.Context, r connectionTables, name string, c *cluster) error {
	before, err := c.steadyMemory(ctx)
	if err != nil {
		return err
	}
	atRest, err := connectIdle(ctx, c, o.idle, fillTime)
	if err != nil {
		return errors.Join(err, atRest.close())
	}
	after, err := c.steadyMemory(ctx)
	if err := errors.Join(err, atRest.close()); err != nil {
		return err
	}
	r.addMemory(name, o.idle, before, after)
	if _, err := c.steadyMemory(ctx); err != nil { // until the server has freed their memory
		return err
	}
	start := time.Now()
	storm, err := connectIdle(ctx, c, o.storm, stormTime)
	took := time.Since(start)
	refusals := storm.sumCounts("connect ")
	if err := errors.Join(err, storm.close()); err != nil {
		return err
	}
	r.addServeTimes(name+", storm", storm.stats.All().Quantiles(players.Served), took, refusals)
	return nil
}

// connectIdle starts clients at even intervals within a time. They do nothing. It returns
// when all of them are connected.
func connectIdle(ctx context.Context, c *cluster, count int, within time.Duration) (*benchClients, error) {
	k := newBenchClients(ctx, c, float64(count)/within.Seconds(), players.Habits{})
	k.AddIdle(count)
	return k, k.await(ctx, "connected", within, func() bool { return k.Connected.Load() >= int64(count) })
}
