package display

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/leaderboard"
)

const (
	// pushEvery is how often a watched board is read.
	pushEvery = time.Second
	// readsAtOnce bounds the reads of watched boards under way.
	readsAtOnce = 16
)

// Watch pushes the top of a board, as Page answers it, as a `board` frame: at
// once, and from then on when it has changed, at most once a second. One that
// is not ready comes when it is. Push must not block; once leave has returned
// it is called no more. Leave may be called again.
func (d *Display) Watch(ctx context.Context, game string, q leaderboard.Query, push func(frame []byte)) (leave func(), err error) {
	key := keyOf(game, leaderboard.Query{Window: q.Window, Order: q.Order, Kind: q.Kind, Limit: q.Limit})
	limit := key.limit
	key.limit = 0
	f := d.feeds.hold(key)
	if err := f.first(ctx, limit); err != nil {
		d.feeds.letGo(f)
		return nil, err
	}
	w := f.join(limit, push)
	d.metrics.watches.Inc()
	return sync.OnceFunc(func() {
		d.metrics.watches.Dec()
		f.leave(w)
		d.feeds.letGo(f)
	}), nil
}

// feeds are the boards watched at a node, those only: one for each window, order
// and kind that a game has, whatever the limits of its watchers.
type feeds struct {
	read    func(ctx context.Context, of pageKey, limit int) (*top, error)
	metrics *metrics

	mu   sync.Mutex
	open map[pageKey]*feed
}

func newFeeds(read func(context.Context, pageKey, int) (*top, error), m *metrics) *feeds {
	return &feeds{read: read, metrics: m, open: make(map[pageKey]*feed)}
}

// hold gives the feed of a board, which stays open until it is let go as often.
func (fs *feeds) hold(key pageKey) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.open[key]
	if f == nil {
		f = &feed{feeds: fs, key: key, watchers: make(map[*watcher]struct{})}
		fs.open[key] = f
	}
	f.held++
	return f
}

func (fs *feeds) letGo(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.held--; f.held == 0 {
		delete(fs.open, f.key)
	}
}

// run looks at every open feed once a second until ctx ends.
func (fs *feeds) run(ctx context.Context) error {
	tick := time.NewTicker(pushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			fs.look(ctx)
		}
	}
}

func (fs *feeds) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(readsAtOnce)
	for _, f := range fs.all() {
		group.Go(func() error {
			f.look(ctx)
			return nil
		})
	}
	_ = group.Wait() // none of them fails
}

func (fs *feeds) all() []*feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	all := make([]*feed, 0, len(fs.open))
	for _, f := range fs.open {
		all = append(all, f)
	}
	return all
}
