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
// must not block. The caller must call stop to end the pushes. After stop has returned,
// push is not called any more. stop may be called several times.
func (d *Display) Watch(ctx context.Context, game string, query leaderboard.Query, push func(frame []byte)) (stop func(), err error) {
	key := newPageKey(game, leaderboard.Query{Window: query.Window, Order: query.Order, Kind: query.Kind, Limit: query.Limit})
	limit := key.limit
	key.limit = 0
	feed := d.feeds.acquire(key)
	if err := feed.ensureRead(ctx, limit); err != nil {
		d.feeds.release(feed)
		return nil, err
	}
	watcher := feed.addWatcher(limit, push)
	d.metrics.watchers.Inc()
	return sync.OnceFunc(func() {
		d.metrics.watchers.Dec()
		feed.removeWatcher(watcher)
		d.feeds.release(feed)
	}), nil
}

// feedRegistry holds the feeds of the boards that sessions of this node watch: one feed per
// game, window, order and kind, for watchers with any limit. Safe for concurrent use.
type feedRegistry struct {
	readTop func(ctx context.Context, key pageKey, limit int) (leaderboard.TopPage, error)
	metrics *metrics

	mu    sync.Mutex
	byKey map[pageKey]*feed
}

// acquire returns the feed of a board, and adds it if there is none. The caller must call
// release later.
func (fs *feedRegistry) acquire(key pageKey) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	current := fs.byKey[key]
	if current == nil {
		current = &feed{feeds: fs, key: key, watchers: make(map[*watcher]struct{})}
		fs.byKey[key] = current
	}
	current.references++
	return current
}

// release removes a feed after its last release.
func (fs *feedRegistry) release(feed *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if feed.references--; feed.references == 0 {
		delete(fs.byKey, feed.key)
	}
}

// run polls every feed once a second until ctx ends.
func (fs *feedRegistry) run(ctx context.Context) error {
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

func (fs *feedRegistry) pollAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxConcurrentReads)
	for _, feed := range fs.allFeeds() {
		group.Go(func() error {
			feed.readAndPush(ctx)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
}

func (fs *feedRegistry) allFeeds() []*feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	feeds := make([]*feed, 0, len(fs.byKey))
	for _, feed := range fs.byKey {
		feeds = append(feeds, feed)
	}
	return feeds
}
