package redisboard

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

// maxCachedPages is the maximum number of slices in a cache. A cache that is full of valid
// slices is emptied.
const maxCachedPages = 1024

// pageKey identifies a slice.
type pageKey struct {
	rankingID leaderboard.RankingID
	request   leaderboard.SliceRequest
}

// sliceCache caches slices for ttl, counted from the start of their read. Concurrent callers
// share one read. It does not cache errors.
type sliceCache struct {
	ttl time.Duration

	mu    sync.Mutex
	pages map[pageKey]*cachedSlice
}

// cachedSlice is a slice with the error of its read. They are set before done is closed, and
// do not change after that.
type cachedSlice struct {
	readStart time.Time
	done      chan struct{}
	slice     leaderboard.RankingSlice
	err       error
}

func newSliceCache(ttl time.Duration) *sliceCache {
	return &sliceCache{ttl: ttl, pages: map[pageKey]*cachedSlice{}}
}

// get returns the cached slice, the result of another caller's read, or the result of
// read.
func (c *sliceCache) get(ctx context.Context, key pageKey, read func() (leaderboard.RankingSlice, error)) (leaderboard.RankingSlice, error) {
	for {
		page, mustRead := c.findOrAdd(key)
		if mustRead {
			page.slice, page.err = read()
			c.finishRead(key, page)
			return page.slice, page.err
		}
		select {
		case <-page.done:
		case <-ctx.Done():
			return leaderboard.RankingSlice{}, ctx.Err()
		}
		// The context of the other caller ended, so try again.
		if !errors.Is(page.err, context.Canceled) && !errors.Is(page.err, context.DeadlineExceeded) {
			return page.slice, page.err
		}
	}
}

// findOrAdd returns the slice that is cached or being read. If mustRead is true, the caller
// must read it and then call finishRead.
func (c *sliceCache) findOrAdd(key pageKey) (page *cachedSlice, mustRead bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if page := c.pages[key]; page != nil && time.Since(page.readStart) < c.ttl {
		return page, false
	}
	if len(c.pages) >= maxCachedPages {
		c.removeExpired()
	}
	page = &cachedSlice{readStart: time.Now(), done: make(chan struct{})}
	c.pages[key] = page
	return page, true
}

func (c *sliceCache) removeExpired() {
	for key, page := range c.pages {
		if time.Since(page.readStart) >= c.ttl {
			delete(c.pages, key)
		}
	}
	if len(c.pages) >= maxCachedPages {
		clear(c.pages)
	}
}

func (c *sliceCache) finishRead(key pageKey, page *cachedSlice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if page.err != nil && c.pages[key] == page {
		delete(c.pages, key)
	}
	close(page.done)
}
