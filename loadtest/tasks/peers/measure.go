package main

import (
	"context"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	few  = 4   // that call with many tasks at once
	size = 100 // tasks of a call
)

// measure enqueues, then works off.
func measure(ctx context.Context, o options) (out outcome, err error) {
	q, err := open(ctx, o)
	if err != nil {
		return out, err
	}
	defer q.pool.Close()
	before, err := cpu()
	if err != nil {
		return out, err
	}
	if out.Single, err = share(ctx, o.producers, o.singles, q.insertOne); err != nil {
		return out, err
	}
	calls, err := share(ctx, few, o.batch/size, q.insertMany)
	if err != nil {
		return out, err
	}
	out.Batch = size * calls
	took, err := q.workOff(ctx)
	if err != nil {
		return out, err
	}
	after, err := cpu()
	if err != nil {
		return out, err
	}
	all := float64(q.made.Load())
	out.Work, out.Process = all/took.Seconds(), float64((after-before).Microseconds())/all
	return out, q.whole(ctx)
}

// share has as many at once do a thing n times in all, and gives n per second.
func share(ctx context.Context, atOnce, n int, do func(context.Context) error) (rate float64, err error) {
	var left atomic.Int64
	left.Store(int64(n))
	began := time.Now()
	all, ctx := errgroup.WithContext(ctx)
	for range atOnce {
		all.Go(func() error {
			for left.Add(-1) >= 0 {
				if err := do(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = all.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}

// cpu is the processor time that this process has taken.
func cpu() (time.Duration, error) {
	var use syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), err
}
