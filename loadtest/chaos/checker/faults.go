package checker

import (
	"context"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// fault is something that is done to a node.
type fault struct {
	name  string
	at    time.Duration // after the beginning
	lasts time.Duration
	do    func(ctx context.Context, n *node, lasts time.Duration) error
}

// faults are those of the ordeal, by their time. A stall is longer than a
// question.
func (o *checker) faults() []fault {
	dice := o.dice(0)
	var all []fault
	add := func(count int, f fault, atLeast, atMost time.Duration) {
		for range count {
			f.at = o.For/10 + time.Duration(dice.Int64N(int64(o.For)*7/10))
			f.lasts = atLeast + time.Duration(dice.Int64N(int64(atMost-atLeast)))
			all = append(all, f)
		}
	}
	add(o.Kills, fault{name: "kill", do: o.fleet.kill}, 500*time.Millisecond, 4*time.Second)
	add(o.Stalls, fault{name: "stall", do: o.fleet.stall}, (limitMS+1000)*time.Millisecond, (2*limitMS+1000)*time.Millisecond)
	add(o.Drains, fault{name: "drain", do: o.fleet.drain}, 500*time.Millisecond, 2*time.Second)
	slices.SortFunc(all, func(a, b fault) int { return int(a.at - b.at) })
	return all
}

// injectFaults does all faults, each to the node that has been well the longest, and
// returns when all nodes are well again.
func (o *checker) injectFaults(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range o.faults() {
		n, err := o.patient(ctx, f.at)
		if err != nil {
			return errorOf(group.Wait(), err)
		}
		o.log("%s of %s for %v", f.name, n.name, f.lasts.Round(time.Millisecond))
		group.Go(func() error {
			defer o.fleet.heal(n)
			o.fleet.checkUp(n)
			return f.do(ctx, n, f.lasts)
		})
	}
	return group.Wait()
}

// patient waits until the time of a fault and for a node that it can be done to.
func (o *checker) patient(ctx context.Context, at time.Duration) (*node, error) {
	wait := at - time.Since(o.began)
	for {
		if err := pause(ctx, max(wait, 0)); err != nil {
			return nil, err
		}
		if n := o.fleet.take(); n != nil {
			return n, nil
		}
		wait = 100 * time.Millisecond
	}
}

func errorOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// kill is what a crash does; the node comes back after a while.
func (f *fleet) kill(ctx context.Context, n *node, lasts time.Duration) error {
	began, former := time.Now(), n.address()
	defer func() { f.outages.add(former, span{began, time.Now()}) }()
	n.end(syscall.SIGKILL)
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return n.start()
}

// stall stops a node in whatever it does, and lets it go on.
func (f *fleet) stall(ctx context.Context, n *node, lasts time.Duration) error {
	began := time.Now()
	n.signal(syscall.SIGSTOP)
	defer func() {
		f.outages.add(n.address(), span{began, time.Now()})
		n.signal(syscall.SIGCONT)
	}()
	return pause(ctx, lasts)
}

// drain is what an operator does; a new process follows after a while.
func (f *fleet) drain(ctx context.Context, n *node, lasts time.Duration) error {
	f.retire(n)
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return n.start()
}
