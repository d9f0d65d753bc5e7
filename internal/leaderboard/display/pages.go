package display

import (
	"cmp"
	"context"
	"sync"
	"time"

	"laststand/internal/leaderboard"
)

const (
	// mostPages bounds, by a half, the pages that are kept.
	mostPages = 256
	// pageFor is how old a page is shown, counted from before it was read.
	pageFor = 250 * time.Millisecond
	// readWithin bounds a read that several may wait for.
	readWithin = 5 * time.Second
)

// pages has each page read once for all who ask for it in the same moment.
type pages struct {
	metrics *metrics

	mu   sync.Mutex
	kept recent[pageKey, *reading]
}

// pageKey tells pages apart.
type pageKey struct {
	game   string
	window leaderboard.Window
	order  leaderboard.Order
	kind   leaderboard.Kind
	limit  int
	cursor string
	date   string
}

// keyOf is the key of a query that names no player.
func keyOf(game string, q leaderboard.Query) pageKey {
	return pageKey{
		game: game, window: q.Window, order: cmp.Or(q.Order, leaderboard.ByValue), kind: cmp.Or(q.Kind, leaderboard.Players),
		limit: cmp.Or(q.Limit, leaderboard.DefaultLimit), cursor: q.Cursor, date: q.Date,
	}
}

// reading is one read of a page: whoever began it does it, others wait.
type reading struct {
	began time.Time
	done  chan struct{} // closed once the two below are there
	shown Shown
	err   error
}

func newPages(m *metrics) *pages {
	return &pages{metrics: m, kept: newRecent[pageKey, *reading](mostPages)}
}

// get gives a page, read by this call or by one that began shortly before.
func (p *pages) get(ctx context.Context, key pageKey, read func(context.Context) (Shown, error)) (Shown, error) {
	r, mine := p.join(key)
	if mine {
		r.do(ctx, read)
		p.metrics.read.Inc()
		return r.shown, r.err
	}
	p.metrics.shared.Inc()
	select {
	case <-r.done:
		return r.shown, r.err
	case <-ctx.Done():
		return Shown{}, ctx.Err()
	}
}

// join gives the reading of a page that is under way or young, or a new one
// that is the caller's to do.
func (p *pages) join(key pageKey) (r *reading, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.kept.get(key); ok && r.serves() {
		return r, false
	}
	r = &reading{began: time.Now(), done: make(chan struct{})}
	p.kept.put(key, r)
	return r, true
}

func (r *reading) serves() bool {
	select {
	case <-r.done:
		return r.err == nil && time.Since(r.began) < pageFor
	default:
		return true
	}
}

// do reads, also when the caller has given up: others wait.
func (r *reading) do(ctx context.Context, read func(context.Context) (Shown, error)) {
	defer close(r.done)
	r.err = context.Canceled // where read panics
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	r.shown, r.err = read(ctx)
}

// clear forgets all pages, those being read too.
func (p *pages) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = newRecent[pageKey, *reading](mostPages)
}
