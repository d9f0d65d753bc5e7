package display

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"

	"laststand/internal/leaderboard"
)

// feed is one watched board, read with the largest limit of its watchers.
type feed struct {
	feeds *feeds
	key   pageKey // its limit is 0
	held  int     // guarded by feeds.mu

	mu       sync.Mutex
	top      *top          // nil until the board was ready
	frames   map[int]frame // cut from top, by limit: at most leaderboard.MaxLimit
	watchers map[*watcher]struct{}
}

// watcher is one session's watch of a feed. Its fields are guarded by feed.mu.
type watcher struct {
	push  func(frame []byte)
	limit int
	seen  uint64 // what it was pushed last, see frame.sum; 0: nothing
	rest  bool   // it was pushed within this second
}

// frame is a push. Equal sums mean equal bytes.
type frame struct {
	bytes []byte
	sum   uint64
}

var frameSeed = maphash.MakeSeed()

// first reads the board unless enough of it is known. One that is not ready is no
// error.
func (f *feed) first(ctx context.Context, limit int) error {
	f.mu.Lock()
	known := f.top.covers(limit)
	f.mu.Unlock()
	if known {
		return nil
	}
	top, err := f.feeds.read(ctx, f.key, limit)
	if errors.Is(err, leaderboard.ErrNotReady) {
		return nil
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.top.covers(limit) {
		f.show(top)
	}
	return nil
}

// join has the board pushed from now on.
func (f *feed) join(limit int, push func([]byte)) *watcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &watcher{push: push, limit: limit}
	f.watchers[w] = struct{}{}
	f.tell(w)
	return w
}

func (f *feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
}

// largest is the largest limit of the watchers, 0 without any.
func (f *feed) largest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := 0
	for w := range f.watchers {
		most = max(most, w.limit)
	}
	return most
}

// look reads the board and pushes it to each watcher that has not seen it so.
// What cannot be read now is read at the next look.
func (f *feed) look(ctx context.Context) {
	limit := f.largest()
	if ctx.Err() != nil || limit == 0 {
		return
	}
	top, err := f.feeds.read(ctx, f.key, limit)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.show(top)
	for w := range f.watchers {
		if w.rest {
			w.rest = false
			continue
		}
		f.tell(w)
		w.rest = false
	}
}

// show makes a reading the one that is pushed. The caller holds mu.
func (f *feed) show(t *top) {
	f.top, f.frames = t, make(map[int]frame)
}

// tell pushes the board to a watcher that has not seen it so. One that came while
// less was read waits for the next look. The caller holds mu.
func (f *feed) tell(w *watcher) {
	if !f.top.covers(w.limit) {
		return
	}
	cut := f.frame(w.limit)
	if w.seen == cut.sum {
		return
	}
	w.seen, w.rest = cut.sum, true
	w.push(cut.bytes)
	f.feeds.metrics.pushes.Inc()
}

// frame is the push with a limit. The caller holds mu.
func (f *feed) frame(limit int) frame {
	if kept, ok := f.frames[limit]; ok {
		return kept
	}
	made := frame{bytes: f.top.frame(limit)}
	made.sum = maphash.Bytes(frameSeed, made.bytes)
	f.frames[limit] = made
	return made
}
