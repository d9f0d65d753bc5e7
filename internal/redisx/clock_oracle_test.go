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

// oracle is a reference on a network, in virtual time.
type oracle struct {
	mu          sync.Mutex
	skew        time.Duration // of its clock to this machine's
	there, back time.Duration
	silent      bool
	err         error
	last        record
}

func (o *oracle) set(change func(*oracle)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

func (o *oracle) skewed(skew time.Duration) { o.set(func(o *oracle) { o.skew = skew }) }

func (o *oracle) now() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Now().Add(o.skew).UnixNano()
}

func (o *oracle) ask(ctx context.Context) (int64, error) {
	o.mu.Lock()
	there, back, silent, err := o.there, o.back, o.silent, o.err
	o.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if silent {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(there)
	told := o.now()
	time.Sleep(back)
	return told, nil
}

// keep keeps the record as clock_record.lua does.
func (o *oracle) keep(_ context.Context, mine, at int64) (last record, err error) {
	time.Sleep(o.there)
	o.mu.Lock()
	defer o.mu.Unlock()
	last = o.last
	age := time.Duration(at - last.at)
	if mine != 0 && (last.at == 0 || mine > last.told || age > 30*time.Second || age < 0) {
		o.last = record{told: mine, at: at}
	}
	return last, nil
}

// off is how far cluster time is ahead of the reference, in ms.
func (o *oracle) off(c *Clock) int64 { return c.Now() - o.now()/int64(time.Millisecond) }

// virtual runs f in virtual time with a clock that runs.
func virtual(t *testing.T, o *oracle, f func(t *testing.T, c *Clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := newClock(t.Context(), o.ask, ClockConfig{})
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

// pass lets virtual time pass, and all that it set off end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
