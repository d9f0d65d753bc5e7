package redisx

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errRefused = errors.New("refused")

// fakeReference is a reference clock behind a network, in virtual time.
type fakeReference struct {
	mu                 sync.Mutex
	skew               time.Duration // by which it is ahead of this machine's clock
	delayTo, delayFrom time.Duration // of requests and of replies
	isSilent           bool          // it does not reply
	err                error
	record             record
}

func (r *fakeReference) set(change func(*fakeReference)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *fakeReference) setSkew(skew time.Duration) { r.set(func(r *fakeReference) { r.skew = skew }) }

func (r *fakeReference) now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.skew).UnixNano()
}

func (r *fakeReference) read(ctx context.Context) (int64, error) {
	r.mu.Lock()
	delayTo, delayFrom, isSilent, err := r.delayTo, r.delayFrom, r.isSilent, r.err
	r.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if isSilent {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(delayTo)
	answered := r.now()
	time.Sleep(delayFrom)
	return answered, nil
}

// storeRecord stores the record like clock_record.lua.
func (r *fakeReference) storeRecord(_ context.Context, clusterTime, refTime int64) (last record, err error) {
	time.Sleep(r.delayTo)
	r.mu.Lock()
	defer r.mu.Unlock()
	last = r.record
	age := time.Duration(refTime - last.refTime)
	if clusterTime != 0 && (last.refTime == 0 || clusterTime > last.clusterTime || age > 30*time.Second || age < 0) {
		r.record = record{clusterTime: clusterTime, refTime: refTime}
	}
	return last, nil
}

// aheadMS returns how far cluster time is ahead of the reference, in ms.
func (r *fakeReference) aheadMS(clock *Clock) int64 {
	return clock.Now() - r.now()/int64(time.Millisecond)
}

// runClockInVirtualTime runs a test in virtual time with a running clock.
func runClockInVirtualTime(t *testing.T, reference *fakeReference, test func(t *testing.T, clock *Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock, err := newClock(t.Context(), reference.read, ClockConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- clock.Run(ctx) }() // waited for below
		test(t, clock)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// advance lets virtual time pass, and waits until all goroutines are idle.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
