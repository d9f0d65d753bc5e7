package main

import (
	"context"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	few  = 4   // callers with many tasks per call
	size = 100 // tasks per call
)

// measure enqueues all tasks and then lets the workers complete them.
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

// share calls do n times in all, atOnce calls at a time, and returns the calls per second.
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

// cpu returns the processor time that this process has used.
func cpu() (time.Duration, error) {
	var use syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), err
}
