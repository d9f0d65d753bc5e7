package redisboard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/leaderboard"
)

// reading counts reads that each take a while.
type reading struct {
	times int64
	err   error
}

func (r *reading) read() (leaderboard.Slice, error) {
	r.times++
	s := leaderboard.Slice{Start: r.times}
	time.Sleep(10 * time.Millisecond)
	return s, r.err
}

func TestOneReadsForAllWhoAskMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(250*time.Millisecond), &reading{}
		for range 5 {
			go func() {
				s, err := c.get(t.Context(), pageOf{}, r.read)
				if err != nil || s.Start != 1 {
					t.Errorf("read %d: %v", s.Start, err)
				}
			}()
		}
		time.Sleep(249 * time.Millisecond)
		if s, _ := c.get(t.Context(), pageOf{}, r.read); s.Start != 1 {
			t.Errorf("read %d while the first is fresh", s.Start)
		}
		time.Sleep(time.Millisecond)
		if s, _ := c.get(t.Context(), pageOf{}, r.read); s.Start != 2 {
			t.Errorf("read %d once the first is old", s.Start)
		}
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(time.Minute), &reading{err: leaderboard.ErrNotReady}
		if _, err := c.get(t.Context(), pageOf{}, r.read); !errors.Is(err, leaderboard.ErrNotReady) {
			t.Errorf("the reader's error became %v", err)
		}
		r.err = nil
		if s, err := c.get(t.Context(), pageOf{}, r.read); err != nil || s.Start != 2 {
			t.Errorf("read %d after an error: %v", s.Start, err)
		}
	})
}

func TestAReaderThatGivesUpDoesNotSpeakForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, r := newCache(time.Minute), &reading{}
		go func() {
			_, _ = c.get(t.Context(), pageOf{}, func() (leaderboard.Slice, error) {
				time.Sleep(time.Second)
				return leaderboard.Slice{}, context.Canceled
			})
		}()
		synctest.Wait()
		if s, err := c.get(t.Context(), pageOf{}, r.read); err != nil || s.Start != 1 {
			t.Errorf("read %d: %v", s.Start, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		other := pageOf{cut: leaderboard.Cut{Limit: 1}}
		go func() { _, _ = c.get(t.Context(), other, r.read) }()
		synctest.Wait()
		if _, err := c.get(ctx, other, r.read); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who gave up waited: %v", err)
		}
		time.Sleep(time.Second) // the other reader ends
	})
}

func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(time.Hour)
	for i := range 3 * maxPages {
		_, _ = c.get(t.Context(), pageOf{cut: leaderboard.Cut{Limit: i}}, func() (leaderboard.Slice, error) {
			return leaderboard.Slice{}, nil
		})
		if len(c.pages) > maxPages {
			t.Fatalf("%d pages", len(c.pages))
		}
	}
}
