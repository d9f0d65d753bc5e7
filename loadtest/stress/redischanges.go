package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"laststand/internal/testenv"
)

const (
	redisMasters       = 3
	slotsPerMove       = 1000
	redisChangeTimeout = 2 * time.Minute
)

// RedisChanges counts the changes of the Redis cluster during a run.
type RedisChanges struct {
	SlotMoves int // 1,000 slots each, from one master to another
	NewShards int // masters that take 1,000 slots from each of the first three
	Failovers int // masters killed; the replica takes over, and the master returns as its replica
}

func (c RedisChanges) count() int { return c.SlotMoves + c.NewShards + c.Failovers }

// startRedisCluster starts a Redis cluster that can be changed, if the run changes one that it
// must start itself.
func (c *ChaosConfig) startRedisCluster() error {
	if c.count() == 0 || c.RedisCluster != nil {
		return nil
	}
	if c.Redis != "cluster" {
		return fmt.Errorf("-redis is %s; use cluster, because only a cluster that this program starts can be changed", c.Redis)
	}
	nodes, err := testenv.StartClusterUntilExit(redisMasters, redisMasters)
	c.RedisCluster, c.Redis = &nodes, nodes.URL
	return err
}

type redisChange struct {
	name   string
	change func(context.Context, *testenv.ClusterNodes) error
}

// redisChanges returns the changes of a run in random order.
func redisChanges(c ChaosConfig) (all []redisChange) {
	dice := rand.New(rand.NewPCG(c.Seed, 200)) //nolint:gosec // a seed must repeat its choices
	for range c.SlotMoves {
		from := dice.IntN(redisMasters)
		to := (from + 1 + dice.IntN(redisMasters-1)) % redisMasters
		all = append(all, redisChange{fmt.Sprintf("move %d slots of master %d to %d", slotsPerMove, from+1, to+1),
			func(ctx context.Context, redis *testenv.ClusterNodes) error {
				return redis.MoveSlots(ctx, from, to, slotsPerMove)
			}})
	}
	for range c.NewShards {
		all = append(all, redisChange{"add a shard", addShard})
	}
	for range c.Failovers {
		master := dice.IntN(redisMasters)
		all = append(all, redisChange{fmt.Sprintf("kill master %d", master+1),
			func(ctx context.Context, redis *testenv.ClusterNodes) error { return redis.Failover(ctx, master) }})
	}
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func addShard(ctx context.Context, redis *testenv.ClusterNodes) error {
	err := redis.AddMaster(ctx)
	for from := range redisMasters {
		if err == nil {
			err = redis.MoveSlots(ctx, from, len(redis.Masters)-1, slotsPerMove)
		}
	}
	return err
}

// changeRedis makes the changes one after another, spread over the run.
func (r *run) changeRedis(ctx context.Context, c ChaosConfig) error {
	changes := redisChanges(c)
	startAt := time.Now()
	for i, change := range changes {
		if err := pause(ctx, time.Until(startAt.Add(c.For*time.Duration(i+1)/time.Duration(len(changes)+2)))); err != nil {
			return err
		}
		if err := r.changeRedisOnce(ctx, change, c.RedisCluster); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) changeRedisOnce(ctx context.Context, change redisChange, redis *testenv.ClusterNodes) error {
	changing, cancel := context.WithTimeout(ctx, redisChangeTimeout)
	defer cancel()
	r.log("Redis: %s", change.name)
	if err := change.change(changing, redis); err != nil {
		return fmt.Errorf("%s: %w", change.name, err)
	}
	r.log("Redis: %s: done", change.name)
	return nil
}
