package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
)

type fault struct {
	name   string
	at     time.Duration // after the start
	lasts  time.Duration
	inject func(ctx context.Context, node int, lasts time.Duration) error
}

// faults returns the faults of a run, in order of time. A stall lasts longer than a
// question.
func (a *cluster) faults(c ChaosConfig) (all []fault) {
	dice := rand.New(rand.NewPCG(c.Seed, 0)) //nolint:gosec // a seed must repeat its faults
	const question = chaosLimitMS * time.Millisecond
	for _, kind := range []struct {
		fault
		count           int
		shortest, below time.Duration
	}{
		{fault{name: "kill", inject: a.kill}, c.Kills, 500 * time.Millisecond, 4 * time.Second},
		{fault{name: "stall", inject: a.stall}, c.Stalls, question + time.Second, 2*question + time.Second},
		{fault{name: "drain", inject: a.drain}, c.Drains, 500 * time.Millisecond, 2 * time.Second},
	} {
		for range kind.count {
			kind.at = c.For/10 + time.Duration(dice.Int64N(int64(c.For)*7/10))
			kind.lasts = kind.shortest + time.Duration(dice.Int64N(int64(kind.below-kind.shortest)))
			all = append(all, kind.fault)
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return int(a.at - b.at) })
	return all
}

// injectFaults injects all faults, each into the node that has run longest. One node has
// no fault at any time. It returns when all nodes run again.
func (r *run) injectFaults(ctx context.Context, c ChaosConfig) error {
	healthy := make(chan int, c.Nodes) // the node that has run longest first
	for i := range c.Nodes {
		healthy <- i
	}
	group, injecting := errgroup.WithContext(ctx)
	group.SetLimit(c.Nodes - 1)
	startAt := time.Now()
	for _, f := range r.cluster.faults(c) { // Go waits while all other nodes have a fault
		if pause(injecting, time.Until(startAt.Add(f.at))) != nil {
			break
		}
		group.Go(func() error {
			n := <-healthy
			defer func() { healthy <- n }()
			r.log("%s of %s for %v", f.name, nodeName(n), f.lasts.Round(time.Millisecond))
			r.cluster.checkRunning(n)
			return f.inject(injecting, n, f.lasts)
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

func (a *cluster) kill(ctx context.Context, node int, lasts time.Duration) error {
	if err := a.nodes[node].Kill(); err != nil {
		return err
	}
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return a.restart(node)
}

// stall stops the process of a node, and resumes it later.
func (a *cluster) stall(ctx context.Context, node int, lasts time.Duration) error {
	if err := a.nodes[node].Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = a.nodes[node].Signal(syscall.SIGCONT) }() // it fails only if the process has ended, which checkRunning reports
	return pause(ctx, lasts)
}

// drain ends a node as an operator does. The node restarts after a while.
func (a *cluster) drain(ctx context.Context, node int, lasts time.Duration) error {
	a.retire(node)
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return a.restart(node)
}

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

// replaceNodes replaces the nodes one by one with the program c.Next, and then one by one with
// the program before, spread over the run. A match that a node cannot read is a violation.
func (r *run) replaceNodes(ctx context.Context, c ChaosConfig) error {
	if c.Next == "" {
		return nil
	}
	startAt := time.Now()
	steps := 2 * len(r.cluster.nodes)
	for step := range steps {
		if err := pause(ctx, time.Until(startAt.Add(c.For*time.Duration(step+1)/time.Duration(steps+2)))); err != nil {
			return err
		}
		node, binary, name := step%len(r.cluster.nodes), c.Next, "the next version"
		if step >= len(r.cluster.nodes) {
			binary, name = r.cluster.Binary, "the former version"
		}
		r.log("replace %s with %s", nodeName(node), name)
		if err := r.cluster.replace(ctx, node, binary); err != nil {
			return err
		}
	}
	return nil
}

// replace drains a node, and starts another program in its place.
func (a *cluster) replace(ctx context.Context, node int, binary string) error {
	a.checkReadable(ctx)
	a.retire(node)
	a.nodes[node].UseBinary(binary)
	return a.restart(node)
}

// checkReadable checks that all nodes can read all matches.
func (a *cluster) checkReadable(ctx context.Context) {
	for i, n := range a.nodes {
		m, err := n.Metrics(ctx)
		if err != nil {
			a.checker.Violations.Add("%s: no metrics: %v", nodeName(i), err)
		} else if failures := m.Sum("laststand_match_decode_failures_total"); failures > 0 {
			a.checker.Violations.Add("%s could not read a match %v times", nodeName(i), failures)
		}
	}
}
