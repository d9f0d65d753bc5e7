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
	there, back, silent, err := r.delayTo, r.delayFrom, r.isSilent, r.err
	r.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if silent {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(there)
	answered := r.now()
	time.Sleep(back)
	return answered, nil
}

// storeRecord stores the record like clock_record.lua.
func (r *fakeReference) storeRecord(_ context.Context, own, refTime int64) (last record, err error) {
	time.Sleep(r.delayTo)
	r.mu.Lock()
	defer r.mu.Unlock()
	last = r.record
	age := time.Duration(refTime - last.refTime)
	if own != 0 && (last.refTime == 0 || own > last.clusterTime || age > 30*time.Second || age < 0) {
		r.record = record{clusterTime: own, refTime: refTime}
	}
	return last, nil
}

// aheadOf returns how far cluster time is ahead of the reference, in ms.
func (r *fakeReference) aheadOf(c *Clock) int64 { return c.Now() - r.now()/int64(time.Millisecond) }

// runVirtual runs a test in virtual time with a running clock.
func runVirtual(t *testing.T, reference *fakeReference, f func(t *testing.T, c *Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := newClock(t.Context(), reference.read, ClockConfig{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }() // waited for below
		f(t, c)
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
