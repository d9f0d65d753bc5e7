package display

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/leaderboard"
)

const (
	// pushInterval is the time between two reads of a watched board.
	pushInterval = time.Second
	// maxConcurrentReads is the maximum number of watched boards that are read at the same
	// time.
	maxConcurrentReads = 16
)

// Watch pushes the top of a board as a `board` frame: immediately, and then at most once a
// second after changes. A board that is not ready is pushed as soon as it is ready. push
// must not block. The caller must call the returned function to end the pushes. After that
// function has returned, push is not called any more. It may be called several times.
func (d *Display) Watch(ctx context.Context, game string, q leaderboard.Query, push func(frame []byte)) (leave func(), err error) {
	key := newPageKey(game, leaderboard.Query{Window: q.Window, Order: q.Order, Kind: q.Kind, Limit: q.Limit})
	limit := key.limit
	key.limit = 0
	f := d.feeds.acquire(key)
	if err := f.ensureRead(ctx, limit); err != nil {
		d.feeds.release(f)
		return nil, err
	}
	w := f.addWatcher(limit, push)
	d.metrics.watches.Inc()
	return sync.OnceFunc(func() {
		d.metrics.watches.Dec()
		f.removeWatcher(w)
		d.feeds.release(f)
	}), nil
}

// feedRegistry holds the feeds of the boards that sessions of this node watch: one feed per
// game, window, order and kind, for watchers with any limit. Safe for concurrent use.
type feeds struct {
	read    func(ctx context.Context, of pageKey, limit int) (*top, error)
	metrics *metrics

	mu    sync.Mutex
	byKey map[pageKey]*feed
}

func newFeeds(read func(context.Context, pageKey, int) (*top, error), m *metrics) *feeds {
	return &feeds{read: read, metrics: m, byKey: make(map[pageKey]*feed)}
}

// acquire returns the feed of a board, and adds it if there is none. The caller must call
// release later.
func (fs *feeds) acquire(key pageKey) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byKey[key]
	if f == nil {
		f = &feed{feeds: fs, key: key, watchers: make(map[*watcher]struct{})}
		fs.byKey[key] = f
	}
	f.references++
	return f
}

// release removes a feed after its last release.
func (fs *feeds) release(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.references--; f.references == 0 {
		delete(fs.byKey, f.key)
	}
}

// run polls every feed once a second until ctx ends.
func (fs *feeds) run(ctx context.Context) error {
	tick := time.NewTicker(pushInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			fs.pollAll(ctx)
		}
	}
}

func (fs *feeds) pollAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for _, f := range fs.openFeeds() {
		group.Go(func() error {
			f.poll(ctx)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
}

func (fs *feeds) openFeeds() []*feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	all := make([]*feed, 0, len(fs.byKey))
	for _, f := range fs.byKey {
		all = append(all, f)
	}
	return all
}
