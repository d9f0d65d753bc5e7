package display

import (
	"context"
	"maps"
	"slices"
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
// must not block. The caller must call stop to end the pushes. After stop has returned,
// push is not called any more. stop may be called several times.
func (d *Display) Watch(ctx context.Context, game string, query leaderboard.Query, push func(frame []byte)) (stop func(), err error) {
	key := newPageKey(game, leaderboard.Query{Window: query.Window, Order: query.Order, Kind: query.Kind, Limit: query.Limit})
	limit := key.limit
	key.limit = 0
	added := &watcher{push: push, limit: limit}
	feed := d.feeds.addWatcher(key, added)
	if err := feed.ensureRead(ctx, limit); err != nil {
		d.feeds.removeWatcher(feed, added)
		return nil, err
	}
	feed.pushFirst(added)
	d.metrics.watchers.Inc()
	return sync.OnceFunc(func() {
		d.metrics.watchers.Dec()
		d.feeds.removeWatcher(feed, added)
	}), nil
}

// feedRegistry holds the feeds of the boards that sessions of this node watch: one feed per
// game, window, order and kind, for watchers with any limit. Safe for concurrent use.
type feedRegistry struct {
	readTop func(ctx context.Context, key pageKey, limit int) (leaderboard.TopPage, error)
	metrics *metrics

	mu    sync.Mutex
	byKey map[pageKey]*feed // feeds with at least one watcher
}

// addWatcher adds a watcher to the feed of a board. The caller must call removeWatcher
// later.
func (fs *feedRegistry) addWatcher(key pageKey, added *watcher) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	current := fs.byKey[key]
	if current == nil {
		current = &feed{feeds: fs, key: key, watchers: make(map[*watcher]struct{})}
		fs.byKey[key] = current
	}
	current.mu.Lock()
	defer current.mu.Unlock()
	current.watchers[added] = struct{}{}
	return current
}

// removeWatcher removes a watcher. It removes the feed with its last watcher.
func (fs *feedRegistry) removeWatcher(feed *feed, removed *watcher) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	feed.mu.Lock()
	defer feed.mu.Unlock()
	delete(feed.watchers, removed)
	if len(feed.watchers) == 0 {
		delete(fs.byKey, feed.key)
	}
}

func (fs *feedRegistry) pollAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	fs.mu.Lock()
	feeds := slices.Collect(maps.Values(fs.byKey))
	fs.mu.Unlock()
	for _, feed := range feeds {
		group.Go(func() error {
			feed.readAndPush(ctx)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
}
