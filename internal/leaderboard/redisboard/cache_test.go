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
type slowRead struct {
	calls int64
	err   error
}

func (r *slowRead) read() (leaderboard.RankingSlice, error) {
	r.calls++
	slice := leaderboard.RankingSlice{StartIndex: r.calls}
	time.Sleep(10 * time.Millisecond)
	return slice, r.err
}

func TestConcurrentReadersShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, slow := newSliceCache(250*time.Millisecond), &slowRead{}
		for range 5 {
			go func() {
				slice, err := cache.get(t.Context(), pageKey{}, slow.read)
				if err != nil || slice.StartIndex != 1 {
					t.Errorf("read %d: %v", slice.StartIndex, err)
				}
			}()
		}
		time.Sleep(249 * time.Millisecond)
		if slice, _ := cache.get(t.Context(), pageKey{}, slow.read); slice.StartIndex != 1 {
			t.Errorf("read %d while the first is fresh", slice.StartIndex)
		}
		time.Sleep(time.Millisecond)
		if slice, _ := cache.get(t.Context(), pageKey{}, slow.read); slice.StartIndex != 2 {
			t.Errorf("read %d after the first has expired", slice.StartIndex)
		}
	})
}

func TestAnErrorIsNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, slow := newSliceCache(time.Minute), &slowRead{err: leaderboard.ErrNotReady}
		if _, err := cache.get(t.Context(), pageKey{}, slow.read); !errors.Is(err, leaderboard.ErrNotReady) {
			t.Errorf("the reader's error became %v", err)
		}
		slow.err = nil
		if slice, err := cache.get(t.Context(), pageKey{}, slow.read); err != nil || slice.StartIndex != 2 {
			t.Errorf("read %d after an error: %v", slice.StartIndex, err)
		}
	})
}

func TestAReaderThatGivesUpDoesNotFailOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, slow := newSliceCache(time.Minute), &slowRead{}
		go func() {
			_, _ = cache.get(t.Context(), pageKey{}, func() (leaderboard.RankingSlice, error) {
				time.Sleep(time.Second)
				return leaderboard.RankingSlice{}, context.Canceled
			})
		}()
		synctest.Wait()
		if slice, err := cache.get(t.Context(), pageKey{}, slow.read); err != nil || slice.StartIndex != 1 {
			t.Errorf("read %d: %v", slice.StartIndex, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		other := pageKey{request: leaderboard.SliceRequest{Limit: 1}}
		go func() { _, _ = cache.get(t.Context(), other, slow.read) }()
		synctest.Wait()
		if _, err := cache.get(ctx, other, slow.read); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled caller got %v", err)
		}
		time.Sleep(time.Second) // until the other reader has ended
	})
}

func TestTheCacheHasAMaximumSize(t *testing.T) {
	t.Parallel()
	cache := newSliceCache(time.Hour)
	for i := range 3 * maxCachedPages {
		_, _ = cache.get(t.Context(), pageKey{request: leaderboard.SliceRequest{Limit: i}}, func() (leaderboard.RankingSlice, error) {
			return leaderboard.RankingSlice{}, nil
		})
		if len(cache.pages) > maxCachedPages {
			t.Fatalf("%d pages", len(cache.pages))
		}
	}
}
