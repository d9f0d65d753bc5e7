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

// read answers and stores the record like clock.lua.
func (r *fakeReference) read(ctx context.Context, own int64) (refTime int64, previous record, err error) {
	r.mu.Lock()
	delayTo, delayFrom, isSilent, err := r.delayTo, r.delayFrom, r.isSilent, r.err
	r.mu.Unlock()
	if err != nil {
		return 0, previous, err
	}
	if isSilent {
		<-ctx.Done()
		return 0, previous, ctx.Err()
	}
	time.Sleep(delayTo)
	r.mu.Lock()
	refTime, previous = time.Now().Add(r.skew).UnixNano(), r.record
	age := time.Duration(refTime - previous.refTime)
	if own != 0 && (own > previous.clusterTime || age > 30*time.Second || age < 0) {
		r.record = record{clusterTime: own, refTime: refTime}
	}
	r.mu.Unlock()
	time.Sleep(delayFrom)
	return refTime, previous, nil
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
