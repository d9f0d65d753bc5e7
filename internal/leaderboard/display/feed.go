package display

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// feed is one watched board. poll reads it with the largest limit of its watchers.
type feed struct {
	feeds *feedRegistry
	key   pageKey // with limit 0

	mu       sync.Mutex
	top      *leaderboard.TopPage // nil: the board has not been ready yet
	topLimit int                  // limit with which top was read
	frames   map[int]frame        // frames of top by limit; at most leaderboard.MaxLimit of them
	watchers map[*watcher]struct{}
}

// watcher is one session that watches a feed. feed.mu guards its fields.
type watcher struct {
	push            func(frame []byte) // must not block
	limit           int
	lastHash        uint64 // hash of the last pushed frame; 0: none was pushed
	pushedSincePoll bool   // true: a frame was pushed since the last poll
}

// frame is an encoded push with the hash of its bytes. Frames with equal hashes count as
// equal.
type frame struct {
	bytes []byte
	hash  uint64
}

var hashSeed = maphash.MakeSeed()

// ensureRead reads the board unless top has enough entries for limit. If the board is not
// ready, it returns nil and top stays as it is.
func (f *feed) ensureRead(ctx context.Context, limit int) error {
	f.mu.Lock()
	isCovered := f.covers(limit)
	f.mu.Unlock()
	if isCovered {
		return nil
	}
	top, err := f.feeds.readTop(ctx, f.key, limit)
	if errors.Is(err, leaderboard.ErrNotReady) {
		return nil
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.covers(limit) {
		f.setTop(top, limit)
	}
	return nil
}

// covers reports whether top has all entries of a push with a limit. The caller holds mu.
func (f *feed) covers(limit int) bool {
	return f.top != nil && (limit <= f.topLimit || len(f.top.Entries) < f.topLimit)
}

// pushFirst pushes the board to a new watcher, if top has enough entries.
func (f *feed) pushFirst(added *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pushIfChanged(added)
}

// largestLimit returns the largest limit of the watchers, or 0 without watchers.
func (f *feed) largestLimit() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit := 0
	for watcher := range f.watchers {
		limit = max(limit, watcher.limit)
	}
	return limit
}

// readAndPush reads the board and pushes it to each watcher whose frame has changed. It
// skips a watcher that got a push since the last poll. It ignores errors of the read,
// because the next poll tries again.
func (f *feed) readAndPush(ctx context.Context) {
	limit := f.largestLimit()
	if ctx.Err() != nil || limit == 0 {
		return
	}
	top, err := f.feeds.readTop(ctx, f.key, limit)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setTop(top, limit)
	for watcher := range f.watchers {
		if watcher.pushedSincePoll {
			watcher.pushedSincePoll = false
			continue
		}
		f.pushIfChanged(watcher)
		watcher.pushedSincePoll = false
	}
}

// setTop replaces the entries to push and removes the encoded frames. The caller holds mu.
func (f *feed) setTop(top leaderboard.TopPage, limit int) {
	f.top, f.topLimit, f.frames = &top, limit, make(map[int]frame)
}

// pushIfChanged pushes the board to a watcher if its frame has changed. If top has too few
// entries for the watcher's limit, the watcher waits for the next poll. The caller holds
// mu.
func (f *feed) pushIfChanged(watcher *watcher) {
	if !f.covers(watcher.limit) {
		return
	}
	current := f.frameFor(watcher.limit)
	if watcher.lastHash == current.hash {
		return
	}
	watcher.lastHash, watcher.pushedSincePoll = current.hash, true
	watcher.push(current.bytes)
	f.feeds.metrics.pushes.Inc()
}

// frameFor returns the frame for a limit that top covers. It encodes each frame once. The
// caller holds mu.
func (f *feed) frameFor(limit int) frame {
	if cached, ok := f.frames[limit]; ok {
		return cached
	}
	created := frame{bytes: protocol.EncodePush(protocol.TypeBoard, f.top.Truncate(limit))}
	created.hash = maphash.Bytes(hashSeed, created.bytes)
	f.frames[limit] = created
	return created
}
