package checker

import (
	"context"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// fault is a fault of a node.
type fault struct {
	name  string
	at    time.Duration // after the beginning
	lasts time.Duration
	do    func(ctx context.Context, n *node, lasts time.Duration) error
}

// faults returns the faults of the run, in order of time. A stall lasts longer than a
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

// injectFaults injects all faults, each into the node that has run longest. It returns
// when all nodes run again.
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

// patient waits for the time of a fault, and for a node that may fail.
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

// kill ends a node as a crash does. The node restarts after a while.
func (f *fleet) kill(ctx context.Context, n *node, lasts time.Duration) error {
	began, former := time.Now(), n.address()
	defer func() { f.outages.add(former, span{began, time.Now()}) }()
	n.end(syscall.SIGKILL)
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return n.start()
}

// stall stops a node's process, and resumes it later.
func (f *fleet) stall(ctx context.Context, n *node, lasts time.Duration) error {
	began := time.Now()
	n.signal(syscall.SIGSTOP)
	defer func() {
		f.outages.add(n.address(), span{began, time.Now()})
		n.signal(syscall.SIGCONT)
	}()
	return pause(ctx, lasts)
}

// drain ends a node as an operator does. A new process starts after a while.
func (f *fleet) drain(ctx context.Context, n *node, lasts time.Duration) error {
	f.retire(n)
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	return n.start()
}
