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
	// maxConcurrentReads bounds the concurrent reads of watched boards.
	maxConcurrentReads = 16
)

// Watch pushes the top of a board as a `board` frame: at once, and then at most once a
// second when it has changed. A board that is not ready is pushed when it is ready. push
// must not block. After leave has returned, push is not called any more. leave may be
// called several times.
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

// feeds holds the boards that sessions of this node watch: one feed per window, order
// and kind of a game, for watchers with any limit.
type feeds struct {
	read    func(ctx context.Context, of pageKey, limit int) (*top, error)
	metrics *metrics

	mu    sync.Mutex
	byKey map[pageKey]*feed
}

func newFeeds(read func(context.Context, pageKey, int) (*top, error), m *metrics) *feeds {
	return &feeds{read: read, metrics: m, byKey: make(map[pageKey]*feed)}
}

// acquire returns the feed of a board. The caller must release it.
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

func (fs *feeds) release(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.references--; f.references == 0 {
		delete(fs.byKey, f.key)
	}
}

// run polls every open feed once a second until ctx ends.
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
