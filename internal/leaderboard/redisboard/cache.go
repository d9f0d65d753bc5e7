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
const maxPages = 1024

// pageKey identifies a slice.
type pageKey struct {
	view leaderboard.View
	cut  leaderboard.Cut
}

// sliceCache caches slices for ttl, counted from the start of their read. Concurrent callers
// share one read. It does not cache errors.
type cache struct {
	ttl time.Duration

	mu    sync.Mutex
	pages map[pageKey]*cachedPage
}

// cachedSlice is a slice with the error of its read. They are set before done is closed, and
// do not change after that.
type cachedPage struct {
	began time.Time
	done  chan struct{}
	slice leaderboard.Slice
	err   error
}

func newCache(ttl time.Duration) *cache {
	return &cache{ttl: ttl, pages: map[pageKey]*cachedPage{}}
}

// get returns the cached slice, the result of another caller's read, or the result of
// read.
func (c *cache) get(ctx context.Context, key pageKey, read func() (leaderboard.Slice, error)) (leaderboard.Slice, error) {
	for {
		p, isNew := c.claim(key)
		if isNew {
			p.slice, p.err = read()
			c.finish(key, p)
			return p.slice, p.err
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return leaderboard.Slice{}, ctx.Err()
		}
		// The context of the other caller ended, so try again.
		if !errors.Is(p.err, context.Canceled) && !errors.Is(p.err, context.DeadlineExceeded) {
			return p.slice, p.err
		}
	}
}

// findOrAdd returns the slice that is cached or being read. If mustRead is true, the caller
// must read it and then call finishRead.
func (c *cache) claim(key pageKey) (p *cachedPage, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pages[key]; p != nil && time.Since(p.began) < c.ttl {
		return p, false
	}
	if len(c.pages) >= maxPages {
		c.evict()
	}
	p = &cachedPage{began: time.Now(), done: make(chan struct{})}
	c.pages[key] = p
	return p, true
}

func (c *cache) evict() {
	for key, p := range c.pages {
		if time.Since(p.began) >= c.ttl {
			delete(c.pages, key)
		}
	}
	if len(c.pages) >= maxPages {
		clear(c.pages)
	}
}

func (c *cache) finish(key pageKey, p *cachedPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.err != nil && c.pages[key] == p {
		delete(c.pages, key)
	}
	close(p.done)
}
