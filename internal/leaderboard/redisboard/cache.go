package redisboard

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

// maxPages bounds a cache. When it is full of fresh pages it starts afresh.
const maxPages = 1024

type pageOf struct {
	view leaderboard.View
	cut  leaderboard.Cut
}

// cache keeps slices for a while, counted from the moment that their reading
// began, and has one caller read for all who ask meanwhile. Errors are not kept.
type cache struct {
	ttl time.Duration

	mu    sync.Mutex
	pages map[pageOf]*cachedPage
}

// cachedPage is being read until done is closed, and does not change after it.
type cachedPage struct {
	began time.Time
	done  chan struct{}
	slice leaderboard.Slice
	err   error
}

func newCache(ttl time.Duration) *cache {
	return &cache{ttl: ttl, pages: map[pageOf]*cachedPage{}}
}

// get returns the page as kept, as another caller reads it, or as read does.
func (c *cache) get(ctx context.Context, of pageOf, read func() (leaderboard.Slice, error)) (leaderboard.Slice, error) {
	for {
		p, mine := c.claim(of)
		if mine {
			p.slice, p.err = read()
			c.finish(of, p)
			return p.slice, p.err
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return leaderboard.Slice{}, ctx.Err()
		}
		// The reader may have given up for reasons of its own.
		if !errors.Is(p.err, context.Canceled) && !errors.Is(p.err, context.DeadlineExceeded) {
			return p.slice, p.err
		}
	}
}

// claim returns the page that is kept or being read, or a new one for the
// caller to read.
func (c *cache) claim(of pageOf) (p *cachedPage, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pages[of]; p != nil && time.Since(p.began) < c.ttl {
		return p, false
	}
	if len(c.pages) >= maxPages {
		c.makeRoom()
	}
	p = &cachedPage{began: time.Now(), done: make(chan struct{})}
	c.pages[of] = p
	return p, true
}

func (c *cache) makeRoom() {
	for of, p := range c.pages {
		if time.Since(p.began) >= c.ttl {
			delete(c.pages, of)
		}
	}
	if len(c.pages) >= maxPages {
		clear(c.pages)
	}
}

func (c *cache) finish(of pageOf, p *cachedPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.err != nil && c.pages[of] == p {
		delete(c.pages, of)
	}
	close(p.done)
}
