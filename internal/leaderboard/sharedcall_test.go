package leaderboard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestManyCallersShareTwoJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flights, jobs := &sharedCall{}, 0
		var returned atomic.Int64
		job := func() error {
			jobs++
			time.Sleep(time.Second)
			return nil
		}
		for range 20 {
			go func() {
				if err := flights.do(t.Context(), job); err != nil {
					t.Error(err)
				}
				returned.Add(1)
			}()
			synctest.Wait() // the first job has begun before the other calls
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if returned.Load() != 1 {
			t.Errorf("after the first job %d callers returned, want only the one that called before it began", returned.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if jobs != 2 || returned.Load() != 20 {
			t.Errorf("%d jobs for %d callers", jobs, returned.Load())
		}
	})
}

func TestAFailedJobIsNotSharedAndAWaiterCanCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flights, failure := &sharedCall{}, errors.New("failed")
		first, second := make(chan error, 1), make(chan error, 1)
		go func() {
			first <- flights.do(t.Context(), func() error { time.Sleep(time.Second); return failure })
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { second <- flights.do(ctx, func() error { return nil }) }()
		synctest.Wait()
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled waiter got %v", err)
		}
		ran := false
		third := flights.do(t.Context(), func() error { ran = true; return nil })
		if err := <-first; !errors.Is(err, failure) || third != nil || !ran {
			t.Errorf("first %v; third %v, ran %t", err, third, ran)
		}
	})
}
