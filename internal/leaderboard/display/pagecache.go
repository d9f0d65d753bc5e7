package display

import (
	"cmp"
	"context"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

const (
	// minCachedPages is the capacity of the page cache. It holds at most twice as many pages.
	minCachedPages = 256
	// pageTTL is how long a page is valid, counted from the start of its read.
	pageTTL = 250 * time.Millisecond
	// readTimeout is the maximum duration of a read for which several callers may wait.
	readTimeout = 5 * time.Second
)

// pageCache caches pages for pageTTL. Concurrent callers for the same page cause one read.
// Safe for concurrent use.
type pageCache struct {
	metrics *metrics

	mu    sync.Mutex
	cache leaderboard.RecentCache[pageKey, *pageRead]
}

// pageKey identifies a page. For a feed, limit is 0.
type pageKey struct {
	game   string
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
	limit  int
	cursor string
	date   string
}

// newPageKey returns the key of a query without Around and Players. Queries with the same
// meaning have the same key.
func newPageKey(game string, query leaderboard.Query) pageKey {
	return pageKey{
		game: game, window: query.Window, order: cmp.Or(query.Order, leaderboard.ByValue), kind: cmp.Or(query.Kind, leaderboard.Players),
		limit: cmp.Or(query.Limit, leaderboard.DefaultLimit), cursor: query.Cursor, date: query.Date,
	}
}

// pageRead is one read of a page. The caller that created it reads; other callers wait until
// done is closed.
type pageRead struct {
	startedAt time.Time
	done      chan struct{} // closed after answer and err are set
	answer    Answer
	err       error
}

func newPageCache(metrics *metrics) *pageCache {
	return &pageCache{metrics: metrics, cache: leaderboard.NewRecentCache[pageKey, *pageRead](minCachedPages)}
}

// get returns a page that this call reads, or that another call has read recently or is
// reading.
func (p *pageCache) get(ctx context.Context, key pageKey, read func(context.Context) (Answer, error)) (Answer, error) {
	shared, mustRun := p.startOrJoin(key)
	if mustRun {
		shared.runRead(ctx, read)
		p.metrics.storeReads.Inc()
		return shared.answer, shared.err
	}
	p.metrics.cacheHits.Inc()
	select {
	case <-shared.done:
		return shared.answer, shared.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// startOrJoin returns a running or recent read of the page. If mustRun is true, the read is
// new and the caller must run it.
func (p *pageCache) startOrJoin(key pageKey) (shared *pageRead, mustRun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if shared, ok := p.cache.Get(key); ok && shared.isUsable() {
		return shared, false
	}
	shared = &pageRead{startedAt: time.Now(), done: make(chan struct{})}
	p.cache.Put(key, shared, 1)
	return shared, true
}

// isUsable reports whether the read is running, or has succeeded within the last pageTTL.
func (p *pageRead) isUsable() bool {
	select {
	case <-p.done:
		return p.err == nil && time.Since(p.startedAt) < pageTTL
	default:
		return true
	}
}

// runRead reads the page. It continues if the caller's context ends, because other callers
// may wait for the page.
func (p *pageRead) runRead(ctx context.Context, read func(context.Context) (Answer, error)) {
	defer close(p.done)
	p.err = context.Canceled // the result if read panics
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	p.answer, p.err = read(ctx)
}

// clear removes all pages from the cache, including those being read.
func (p *pageCache) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache = leaderboard.NewRecentCache[pageKey, *pageRead](minCachedPages)
}
