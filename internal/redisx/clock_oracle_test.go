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

// fakeReference is a reference on a network, in virtual time.
type fakeReference struct {
	mu                 sync.Mutex
	skew               time.Duration // of its clock against this machine's
	delayTo, delayFrom time.Duration
	isSilent           bool
	err                error
	record             record
}

func (o *fakeReference) set(change func(*fakeReference)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

func (o *fakeReference) setSkew(skew time.Duration) { o.set(func(o *fakeReference) { o.skew = skew }) }

func (o *fakeReference) now() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Now().Add(o.skew).UnixNano()
}

func (o *fakeReference) read(ctx context.Context) (int64, error) {
	o.mu.Lock()
	there, back, silent, err := o.delayTo, o.delayFrom, o.isSilent, o.err
	o.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if silent {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(there)
	answered := o.now()
	time.Sleep(back)
	return answered, nil
}

// storeRecord stores the record like clock_record.lua.
func (o *fakeReference) storeRecord(_ context.Context, own, refTime int64) (last record, err error) {
	time.Sleep(o.delayTo)
	o.mu.Lock()
	defer o.mu.Unlock()
	last = o.record
	age := time.Duration(refTime - last.refTime)
	if own != 0 && (last.refTime == 0 || own > last.clusterTime || age > 30*time.Second || age < 0) {
		o.record = record{clusterTime: own, refTime: refTime}
	}
	return last, nil
}

// aheadOf returns how far cluster time is ahead of the reference, in ms.
func (o *fakeReference) aheadOf(c *Clock) int64 { return c.Now() - o.now()/int64(time.Millisecond) }

// runVirtual runs f in virtual time with a running clock.
func runVirtual(t *testing.T, o *fakeReference, f func(t *testing.T, c *Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := newClock(t.Context(), o.read, ClockConfig{})
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

// advance lets virtual time pass, and waits for everything that this starts.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
