package leaderboard

import (
	"cmp"
	"context"
	"sync"
	"time"
)

const (
	// maxCachedPages is the capacity of the page cache. A full cache is cleared.
	maxCachedPages = 512
	// pageTTL is how long a page is valid, counted from the start of its read.
	pageTTL = 250 * time.Millisecond
	// readTimeout is the maximum duration of a read for which several callers may wait.
	readTimeout = 5 * time.Second
)

// pageCache caches pages for pageTTL. Concurrent callers for the same page cause one read.
// Safe for concurrent use.
type pageCache struct {
	metrics *displayMetrics

	mu    sync.Mutex
	pages map[pageKey]*pageRead
}

// pageKey identifies a page. For a watched board, Limit is 0.
type pageKey struct {
	game string
	Query
}

// newPageKey returns the key of a query. Queries with the same meaning have the same key.
func newPageKey(game string, query Query) pageKey {
	query.Order, query.Kind, query.Limit = cmp.Or(query.Order, ByValue), cmp.Or(query.Kind, Players), cmp.Or(query.Limit, DefaultLimit)
	return pageKey{game, query}
}

// pageRead is one read of a page. The caller that created it reads; other callers wait until
// done is closed.
type pageRead struct {
	startedAt time.Time
	done      chan struct{} // closed after answer and err are set
	answer    Answer
	err       error
}

func newPageCache(metrics *displayMetrics) *pageCache {
	return &pageCache{metrics: metrics, pages: map[pageKey]*pageRead{}}
}

// get returns a page that this call reads, or that another call has read recently or is
// reading. A read continues if its caller's context ends, because others may wait for it.
func (p *pageCache) get(ctx context.Context, key pageKey, read func(context.Context) (Answer, error)) (Answer, error) {
	shared, mustRun := p.startOrJoin(key)
	if mustRun {
		p.metrics.storeReads.Inc()
		defer close(shared.done)
		shared.err = context.Canceled // the result for others if read panics
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		shared.answer, shared.err = read(ctx)
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
	if shared, ok := p.pages[key]; ok && shared.isUsable() {
		return shared, false
	}
	shared = &pageRead{startedAt: time.Now(), done: make(chan struct{})}
	if len(p.pages) >= maxCachedPages {
		clear(p.pages)
	}
	p.pages[key] = shared
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

// clear removes all pages from the cache, including those being read.
func (p *pageCache) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.pages)
}
