package redisboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/leaderboard"
)

// slowRead counts its reads, each of which takes 10 ms.
type blockingRead struct {
	times int64
	err   error
}

func (r *blockingRead) read() (leaderboard.Slice, error) {
	r.times++
	s := leaderboard.Slice{Start: r.times}
	time.Sleep(10 * time.Millisecond)
	return s, r.err
}

func TestConcurrentReadersShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(250*time.Millisecond), &blockingRead{}
		for range 5 {
			go func() {
				s, err := c.get(t.Context(), pageKey{}, r.read)
				if err != nil || s.Start != 1 {
					t.Errorf("read %d: %v", s.Start, err)
				}
			}()
		}
		time.Sleep(249 * time.Millisecond)
		if s, _ := c.get(t.Context(), pageKey{}, r.read); s.Start != 1 {
			t.Errorf("read %d while the first is fresh", s.Start)
		}
		time.Sleep(time.Millisecond)
		if s, _ := c.get(t.Context(), pageKey{}, r.read); s.Start != 2 {
			t.Errorf("read %d once the first is old", s.Start)
		}
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(time.Minute), &blockingRead{err: leaderboard.ErrNotReady}
		if _, err := c.get(t.Context(), pageKey{}, r.read); !errors.Is(err, leaderboard.ErrNotReady) {
			t.Errorf("the reader's error became %v", err)
		}
		r.err = nil
		if s, err := c.get(t.Context(), pageKey{}, r.read); err != nil || s.Start != 2 {
			t.Errorf("read %d after an error: %v", s.Start, err)
		}
	})
}

func TestAReaderThatGivesUpDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(time.Minute), &blockingRead{}
		go func() {
			_, _ = c.get(t.Context(), pageKey{}, func() (leaderboard.Slice, error) {
				time.Sleep(time.Second)
				return leaderboard.Slice{}, context.Canceled
			})
		}()
		synctest.Wait()
		if s, err := c.get(t.Context(), pageKey{}, r.read); err != nil || s.Start != 1 {
			t.Errorf("read %d: %v", s.Start, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		other := pageKey{cut: leaderboard.Cut{Limit: 1}}
		go func() { _, _ = c.get(t.Context(), other, r.read) }()
		synctest.Wait()
		if _, err := c.get(ctx, other, r.read); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled caller got %v", err)
		}
		time.Sleep(time.Second) // the other reader ends
	})
}

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(time.Hour)
	for i := range 3 * maxPages {
		_, _ = c.get(t.Context(), pageKey{cut: leaderboard.Cut{Limit: i}}, func() (leaderboard.Slice, error) {
			return leaderboard.Slice{}, nil
		})
		if len(c.pages) > maxPages {
			t.Fatalf("%d pages", len(c.pages))
		}
	}
}
