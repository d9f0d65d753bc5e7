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

// kill ends a node without a warning. The node restarts after a while.
func (a *cluster) kill(ctx context.Context, node int, lasts time.Duration) error {
	if err := a.nodes[node].Kill(); err != nil {
		return err
	}
	return a.restartAfter(ctx, node, lasts)
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
	return a.restartAfter(ctx, node, lasts)
}

func (a *cluster) restartAfter(ctx context.Context, node int, wait time.Duration) error {
	if err := pause(ctx, wait); err != nil {
		return err
	}
	return a.restart(node)
}

// change is a change of the nodes or of the Redis cluster.
type change struct {
	name  string
	apply func(context.Context) error
}

// changeTimeout bounds a change.
const changeTimeout = 2 * time.Minute

// makeChanges makes changes one after another, spread over a time.
func (r *run) makeChanges(ctx context.Context, over time.Duration, changes []change) error {
	startAt := time.Now()
	for i, c := range changes {
		if err := pause(ctx, time.Until(startAt.Add(over*time.Duration(i+1)/time.Duration(len(changes)+2)))); err != nil {
			return err
		}
		changing, cancel := context.WithTimeout(ctx, changeTimeout)
		r.log("%s", c.name)
		err := c.apply(changing)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.log("%s: done", c.name)
	}
	return nil
}

// replacements replace the nodes one by one with the program c.Next, and then one by one with
// the program before. A match that a node cannot read is a violation.
func (a *cluster) replacements(c ChaosConfig) (all []change) {
	for _, next := range []struct{ binary, name string }{{c.Next, "the next version"}, {a.Binary, "the former version"}} {
		for i := range a.nodes {
			if c.Next == "" {
				return nil
			}
			all = append(all, change{fmt.Sprintf("replace %s with %s", nodeName(i), next.name), func(ctx context.Context) error {
				a.checkReadable(ctx)
				a.retire(i)
				a.nodes[i].UseBinary(next.binary)
				return a.restart(i)
			}})
		}
	}
	return all
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

const (
	redisMasters = 3
	slotsPerMove = 1000
)

// RedisChanges counts the changes of the Redis cluster during a run.
type RedisChanges struct {
	SlotMoves int // 1,000 slots each, from one master to another
	NewShards int // masters that take 1,000 slots from each of the first three
	Failovers int // masters killed; the replica takes over, and the master returns as its replica
}

// startRedisCluster starts a Redis cluster that can be changed, if the run changes one that it
// must start itself.
func (c *ChaosConfig) startRedisCluster() error {
	if c.RedisChanges == (RedisChanges{}) || c.RedisCluster != nil {
		return nil
	}
	if c.Redis != "cluster" {
		return fmt.Errorf("-redis is %s; use cluster, because only a cluster that this program starts can be changed", c.Redis)
	}
	nodes, err := testenv.StartClusterUntilExit(redisMasters, redisMasters)
	c.RedisCluster, c.Redis = &nodes, nodes.URL
	return err
}

// redisChanges returns the changes of the Redis cluster in random order.
func (c *ChaosConfig) redisChanges() (all []change) {
	dice := rand.New(rand.NewPCG(c.Seed, 200)) //nolint:gosec // a seed must repeat its choices
	redis := c.RedisCluster
	for range c.SlotMoves {
		from := dice.IntN(redisMasters)
		to := (from + 1 + dice.IntN(redisMasters-1)) % redisMasters
		all = append(all, change{fmt.Sprintf("move %d slots of Redis master %d to %d", slotsPerMove, from+1, to+1),
			func(ctx context.Context) error { return redis.MoveSlots(ctx, from, to, slotsPerMove) }})
	}
	for range c.NewShards {
		all = append(all, change{"add a Redis shard", func(ctx context.Context) error {
			err := redis.AddMaster(ctx)
			for from := 0; from < redisMasters && err == nil; from++ {
				err = redis.MoveSlots(ctx, from, len(redis.Masters)-1, slotsPerMove)
			}
			return err
		}})
	}
	for range c.Failovers {
		master := dice.IntN(redisMasters)
		all = append(all, change{fmt.Sprintf("kill Redis master %d", master+1), func(ctx context.Context) error { return redis.Failover(ctx, master) }})
	}
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
