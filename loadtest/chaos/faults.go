package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// fault is a fault of a node.
type fault struct {
	name   string
	at     time.Duration // after the start
	lasts  time.Duration
	inject func(ctx context.Context, n *node, lasts time.Duration) error
}

// faults returns the faults of the run, in order of time. A stall lasts longer than a
// question.
func (r *run) faults() (all []fault) {
	dice := rand.New(rand.NewPCG(r.Seed, 0)) //nolint:gosec // a seed must repeat its faults
	for _, kind := range []struct {
		fault
		count         int
		atLeast, most time.Duration
	}{
		{fault{name: "kill", inject: r.nodes.kill}, r.Kills, 500 * time.Millisecond, 4 * time.Second},
		{fault{name: "stall", inject: r.nodes.stall}, r.Stalls, (limitMS + 1000) * time.Millisecond, (2*limitMS + 1000) * time.Millisecond},
		{fault{name: "drain", inject: r.nodes.drain}, r.Drains, 500 * time.Millisecond, 2 * time.Second},
	} {
		for range kind.count {
			kind.at = r.For/10 + time.Duration(dice.Int64N(int64(r.For)*7/10))
			kind.lasts = kind.atLeast + time.Duration(dice.Int64N(int64(kind.most-kind.atLeast)))
			all = append(all, kind.fault)
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return int(a.at - b.at) })
	return all
}

// injectFaults injects all faults, each into the node that has run longest. It returns
// when all nodes run again.
func (r *run) injectFaults(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range r.faults() {
		n, err := r.awaitNode(ctx, f.at)
		if err != nil {
			if failed := group.Wait(); failed != nil {
				return failed
			}
			return err
		}
		r.log("%s of %s for %v", f.name, n.name, f.lasts.Round(time.Millisecond))
		group.Go(func() error {
			defer r.nodes.heal(n)
			r.nodes.checkRunning(n)
			return f.inject(ctx, n, f.lasts)
		})
	}
	return group.Wait()
}

// awaitNode waits for the time of a fault, and for a node that may fail.
func (r *run) awaitNode(ctx context.Context, at time.Duration) (*node, error) {
	wait := at - time.Since(r.startAt)
	for {
		if err := pause(ctx, max(wait, 0)); err != nil {
			return nil, err
		}
		if n := r.nodes.takeHealthy(); n != nil {
			return n, nil
		}
		wait = 100 * time.Millisecond
	}
}

// kill ends a node as a crash does. The node restarts after a while.
func (a *nodes) kill(ctx context.Context, n *node, lasts time.Duration) error {
	defer a.outages.start(n.address())()
	if err := n.Kill(); err != nil {
		return err
	}
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return n.restart()
}

// stall stops the process of a node, and resumes it later.
func (a *nodes) stall(ctx context.Context, n *node, lasts time.Duration) error {
	defer a.outages.start(n.address())()
	if err := n.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = n.Signal(syscall.SIGCONT) }() // it fails only if the process has ended, which checkRunning reports
	return pause(ctx, lasts)
}

// drain ends a node as an operator does. The node restarts after a while.
func (a *nodes) drain(ctx context.Context, n *node, lasts time.Duration) error {
	a.retire(n)
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return n.restart()
}
