package stress

import (
	"cmp"
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

// event is a fault or a change of the nodes or of the Redis cluster.
type event struct {
	name      string
	at, lasts time.Duration // after the start
	apply     func(context.Context) error
}

// eventTimeout bounds an event.
const eventTimeout = 2 * time.Minute

// schedule applies events at their times, or later if too many are going on. It returns when all
// have ended.
func schedule(ctx context.Context, events []event, together int) error {
	group, applying := errgroup.WithContext(ctx)
	group.SetLimit(together)
	startAt := time.Now()
	for _, e := range events { // Go waits while too many are going on
		if testenv.Pause(applying, time.Until(startAt.Add(e.at))) != nil {
			break
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(applying, eventTimeout)
			defer cancel()
			if err := e.apply(ctx); err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

// spread spreads changes over a time. They are logged.
func (r *run) spread(over time.Duration, changes []event) []event {
	for i := range changes {
		c, apply := &changes[i], changes[i].apply
		c.at = over * time.Duration(i+1) / time.Duration(len(changes)+2)
		c.apply = func(ctx context.Context) error {
			r.log("%s", c.name)
			err := apply(ctx)
			r.log("%s: done", c.name)
			return err
		}
	}
	return changes
}

// faults returns the faults of a run, in order of time, each in the node that has run longest. A
// stall lasts longer than a question.
func (r *run) faults(c *Chaos) (all []event) {
	healthy := make(chan int, c.Nodes) // the node that has run longest first
	for i := range c.Nodes {
		healthy <- i
	}
	dice := rand.New(rand.NewPCG(c.Seed, 0)) //nolint:gosec // a seed must repeat its faults
	const question = chaosLimitMS * time.Millisecond
	for _, kind := range []struct {
		name            string
		inject          func(ctx context.Context, node int, lasts time.Duration) error
		count           int
		shortest, below time.Duration
	}{
		{"kill", r.kill, c.Kills, 500 * time.Millisecond, 4 * time.Second},
		{"stall", r.stall, c.Stalls, question + time.Second, 2*question + time.Second},
		{"drain", r.drain, c.Drains, 500 * time.Millisecond, 2 * time.Second},
	} {
		for range kind.count {
			at := c.For/10 + time.Duration(dice.Int64N(int64(c.For)*7/10))
			lasts := kind.shortest + time.Duration(dice.Int64N(int64(kind.below-kind.shortest)))
			all = append(all, event{kind.name, at, lasts, func(ctx context.Context) error {
				n := <-healthy
				defer func() { healthy <- n }()
				r.log("%s of %s for %v", kind.name, nodeName(n), lasts.Round(time.Millisecond))
				r.checkRunning(n)
				return kind.inject(ctx, n, lasts)
			}})
		}
	}
	slices.SortFunc(all, func(a, b event) int { return int(a.at - b.at) })
	return all
}

// kill ends a node without a warning. The node restarts after a while.
func (r *run) kill(ctx context.Context, node int, lasts time.Duration) error {
	if err := r.All[node].Kill(); err != nil {
		return err
	}
	return r.restartAfter(ctx, node, lasts)
}

// stall stops the process of a node, and resumes it later.
func (r *run) stall(ctx context.Context, node int, lasts time.Duration) error {
	if err := r.All[node].Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = r.All[node].Signal(syscall.SIGCONT) }() // it fails only if the process has ended, which checkRunning reports
	return testenv.Pause(ctx, lasts)
}

// drain ends a node as an operator does. The node restarts after a while.
func (r *run) drain(ctx context.Context, node int, lasts time.Duration) error {
	r.retire(node)
	return r.restartAfter(ctx, node, lasts)
}

func (r *run) restartAfter(ctx context.Context, node int, wait time.Duration) error {
	if err := testenv.Pause(ctx, wait); err != nil {
		return err
	}
	return r.restart(node)
}

// restart starts a node again, but not during a failover: a node does not start without all masters
// of Redis.
func (r *run) restart(node int) error {
	r.failover.RLock()
	defer r.failover.RUnlock()
	return r.Restart(node)
}

// replacements replace the nodes one by one with the program next, and then one by one with
// the program before. A match that a node cannot read is a violation. Without a next program
// there are none.
func (r *run) replacements(next string) (all []event) {
	for _, with := range []struct{ binary, name string }{{next, "the next version"}, {r.Server, "the former version"}} {
		for i := range r.All {
			all = append(all, event{name: fmt.Sprintf("replace %s with %s", nodeName(i), with.name), apply: func(ctx context.Context) error {
				r.checkReadable(ctx)
				r.retire(i)
				r.All[i].UseBinary(with.binary)
				return r.restart(i)
			}})
		}
	}
	if next == "" {
		return nil
	}
	return all
}

// checkReadable checks that all nodes can read all matches.
func (r *run) checkReadable(ctx context.Context) {
	for i, n := range r.All {
		m, err := n.Metrics(ctx)
		r.checker.Violations.AddIf(err != nil, "%s: no metrics: %v", nodeName(i), err)
		failures := m.Sum("laststand_match_decode_failures_total")
		r.checker.Violations.AddIf(failures > 0, "%s could not read a match %v times", nodeName(i), failures)
	}
}

const (
	redisMasters = 3
	slotsPerMove = 1000
)

// RedisChanges counts the changes of the Redis cluster during a run.
type RedisChanges struct {
	SlotMoves    int                   `help:"Times that 1,000 slots of the Redis cluster move to another master."`
	NewShards    int                   `help:"Masters added to the Redis cluster; each takes 1,000 slots from each of the first three."`
	Failovers    int                   `help:"Masters of the Redis cluster killed; the replica takes over, and the master returns as its replica."`
	RedisCluster *testenv.ClusterNodes `kong:"-"` // serves the URL of Redis; nil: the nodes start one
}

// replicateRedis adds replicas to the Redis cluster that the nodes start, if the run changes it.
func (c *Chaos) replicateRedis() {
	if c.RedisChanges == (RedisChanges{}) || c.RedisCluster != nil {
		return
	}
	testenv.FailIf(c.Redis != "cluster", "-redis is %s; use cluster, because only a cluster that this program starts can be changed", c.Redis)
	c.Node.RedisReplicas = redisMasters
}

// redisChanges returns the changes of the Redis cluster in random order.
func (r *run) redisChanges(c *Chaos) (all []event) {
	dice := rand.New(rand.NewPCG(c.Seed, 200)) //nolint:gosec // a seed must repeat its choices
	redis := cmp.Or(c.RedisCluster, r.Cluster)
	for range c.SlotMoves {
		from := dice.IntN(redisMasters)
		to := (from + 1 + dice.IntN(redisMasters-1)) % redisMasters
		all = append(all, event{name: fmt.Sprintf("move %d slots of Redis master %d to %d", slotsPerMove, from+1, to+1),
			apply: func(ctx context.Context) error { return redis.MoveSlots(ctx, from, to, slotsPerMove) }})
	}
	for range c.NewShards {
		all = append(all, event{name: "add a Redis shard", apply: func(ctx context.Context) error {
			err := redis.AddMaster(ctx)
			for from := 0; from < redisMasters && err == nil; from++ {
				err = redis.MoveSlots(ctx, from, len(redis.Masters)-1, slotsPerMove)
			}
			return err
		}})
	}
	for range c.Failovers {
		master := dice.IntN(redisMasters)
		all = append(all, event{name: fmt.Sprintf("kill Redis master %d", master+1), apply: func(ctx context.Context) error {
			r.failover.Lock() // when the nodes that start have started
			defer r.failover.Unlock()
			return redis.Failover(ctx, master)
		}})
	}
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
