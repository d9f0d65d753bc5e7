package leaderboard

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/internal/timer"
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
func (d *Display) Watch(ctx context.Context, game string, query Query, push func(frame []byte)) (stop func(), err error) {
	query = Query{Window: query.Window, Order: query.Order, Kind: query.Kind, Limit: query.Limit}
	board := newPageKey(game, query)
	added := &watcher{push: push, limit: board.Limit}
	board.Limit = 0
	answer, err := d.Page(ctx, game, query)
	switch {
	case err == nil:
		d.push(added, newPushedPage(answer))
	case !errors.Is(err, ErrNotReady):
		return nil, err
	}
	d.metrics.watchers.Inc()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watched[board] == nil {
		d.watched[board] = map[*watcher]struct{}{}
	}
	d.watched[board][added] = struct{}{}
	return sync.OnceFunc(func() { d.unwatch(board, added) }), nil
}

func (d *Display) unwatch(board pageKey, removed *watcher) {
	d.metrics.watchers.Dec()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.watched[board], removed)
	if len(d.watched[board]) == 0 {
		delete(d.watched, board)
	}
}

// largestLimits returns the watched boards, each with the largest limit of its watchers.
func (d *Display) largestLimits() map[pageKey]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	limits := map[pageKey]int{}
	for board, watchers := range d.watched {
		for watcher := range watchers {
			limits[board] = max(limits[board], watcher.limit)
		}
	}
	return limits
}

// Run reads the watched boards and pushes changes until ctx ends. Then it returns nil.
func (d *Display) Run(ctx context.Context) error {
	timer.Every(ctx, pushInterval, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		var group errgroup.Group
		group.SetLimit(maxConcurrentReads)
		for board, limit := range d.largestLimits() {
			group.Go(func() error {
				d.poll(ctx, board, limit)
				return nil
			})
		}
		_ = group.Wait() // no function returns an error
	})
	return nil
}

// poll reads a watched board and pushes it to each watcher whose page has changed. It skips
// watchers that were added since the last poll and got a push, and those added during the
// read with a larger limit. It ignores errors of the read, because the next poll tries again.
func (d *Display) poll(ctx context.Context, board pageKey, limit int) {
	query := board.Query
	query.Limit = limit
	page, err := d.readPage(ctx, board.game, query)
	d.metrics.storeReads.Inc()
	if err != nil {
		return
	}
	byLimit := map[int]pushedPage{} // each is encoded once
	d.mu.Lock()
	defer d.mu.Unlock()
	for watcher := range d.watched[board] {
		if watcher.pushedSincePoll || watcher.limit > limit {
			watcher.pushedSincePoll = false
			continue
		}
		pushed, isEncoded := byLimit[watcher.limit]
		if !isEncoded {
			pushed = newPushedPage(EncodeAnswer(page.truncate(watcher.limit)))
			byLimit[watcher.limit] = pushed
		}
		if watcher.lastTag != pushed.tag {
			d.push(watcher, pushed)
			watcher.pushedSincePoll = false
		}
	}
}

// pushedPage is a page as a push.
type pushedPage struct {
	tag   string // ETag of the page
	frame []byte
}

func newPushedPage(page Answer) pushedPage {
	return pushedPage{page.ETag, protocol.EncodePush(protocol.TypeBoard, json.RawMessage(page.JSON))}
}

// push pushes a page to a watcher. The caller holds mu, or has not added the watcher
// yet.
func (d *Display) push(watcher *watcher, page pushedPage) {
	watcher.lastTag, watcher.pushedSincePoll = page.tag, true
	watcher.push(page.frame)
	d.metrics.pushes.Inc()
}
