package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
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
