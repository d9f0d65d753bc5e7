package display

import (
	"cmp"
	"context"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

const (
	// maxPages is half the bound of cached pages.
	maxPages = 256
	// pageTTL is how long a page is valid, counted from the start of its read.
	pageTTL = 250 * time.Millisecond
	// readTimeout bounds a read for which several callers may wait.
	readTimeout = 5 * time.Second
)

// pageCache shares reads: concurrent callers for the same page cause one read.
type pageCache struct {
	metrics *metrics

	mu    sync.Mutex
	cache recentCache[pageKey, *pageRead]
}

// pageKey identifies a page.
type pageKey struct {
	game   string
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
	limit  int
	cursor string
	date   string
}

// newPageKey returns the key of a query that names no player.
func newPageKey(game string, q leaderboard.Query) pageKey {
	return pageKey{
		game: game, window: q.Window, order: cmp.Or(q.Order, leaderboard.ByValue), kind: cmp.Or(q.Kind, leaderboard.Players),
		limit: cmp.Or(q.Limit, leaderboard.DefaultLimit), cursor: q.Cursor, date: q.Date,
	}
}

// pageRead is one read of a page. The caller that created it reads; others wait for
// done.
type pageRead struct {
	began  time.Time
	done   chan struct{} // closed when answer and err are set
	answer Answer
	err    error
}

func newPageCache(m *metrics) *pageCache {
	return &pageCache{metrics: m, cache: newRecentCache[pageKey, *pageRead](maxPages)}
}

// get returns a page that this call or another recent call has read.
func (p *pageCache) get(ctx context.Context, key pageKey, read func(context.Context) (Answer, error)) (Answer, error) {
	r, isNew := p.startOrJoin(key)
	if isNew {
		r.run(ctx, read)
		p.metrics.read.Inc()
		return r.answer, r.err
	}
	p.metrics.fromCache.Inc()
	select {
	case <-r.done:
		return r.answer, r.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// startOrJoin returns a running or recent read of the page. If isNew, the caller must
// run it.
func (p *pageCache) startOrJoin(key pageKey) (r *pageRead, isNew bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.cache.get(key); ok && r.isUsable() {
		return r, false
	}
	r = &pageRead{began: time.Now(), done: make(chan struct{})}
	p.cache.put(key, r)
	return r, true
}

func (r *pageRead) isUsable() bool {
	select {
	case <-r.done:
		return r.err == nil && time.Since(r.began) < pageTTL
	default:
		return true
	}
}

// run reads the page. It goes on if the caller gives up, because others may wait.
func (r *pageRead) run(ctx context.Context, read func(context.Context) (Answer, error)) {
	defer close(r.done)
	r.err = context.Canceled // kept if read panics
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	r.answer, r.err = read(ctx)
}

// clear removes all pages, including those being read.
func (p *pageCache) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache = newRecentCache[pageKey, *pageRead](maxPages)
}
