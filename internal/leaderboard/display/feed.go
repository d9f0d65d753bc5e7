package display

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// feed is one watched board.
type feed struct {
	feeds *feeds
	key   pageKey
	held  int // guarded by feeds.mu

	mu       sync.Mutex
	tag      string // of what frame holds; both empty until the board was ready
	frame    []byte
	watchers map[*watcher]struct{}
}

// watcher is one session's watch of a feed. Its fields are guarded by feed.mu.
type watcher struct {
	push func(frame []byte)
	tag  string // of what it was pushed last
	rest bool   // it was pushed within this second
}

// first reads the board unless it has been. One that is not ready is no error.
func (f *feed) first(ctx context.Context) error {
	f.mu.Lock()
	known := f.frame != nil
	f.mu.Unlock()
	if known {
		return nil
	}
	shown, err := f.feeds.read(ctx, f.key)
	if errors.Is(err, leaderboard.ErrNotReady) {
		return nil
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frame == nil {
		f.Show(shown)
	}
	return nil
}

// join has the board pushed from now on.
func (f *feed) join(push func([]byte)) *watcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &watcher{push: push}
	f.watchers[w] = struct{}{}
	f.tell(w)
	return w
}

func (f *feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
}

// look reads the board and pushes it to all who have not seen it so. What
// cannot be read now is at the next look.
func (f *feed) look(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	shown, err := f.feeds.read(ctx, f.key)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if shown.Tag != f.tag {
		f.Show(shown)
	}
	for w := range f.watchers {
		if w.rest {
			w.rest = false
			continue
		}
		f.tell(w)
		w.rest = false
	}
}

// show encodes what is pushed. The caller holds mu.
func (f *feed) Show(shown Shown) {
	f.tag, f.frame = shown.Tag, protocol.EncodePush(protocol.TypeBoard, json.RawMessage(shown.JSON))
}

// tell pushes the board to a watcher that has not seen it so. The caller holds
// mu.
func (f *feed) tell(w *watcher) {
	if w.tag == f.tag {
		return
	}
	w.tag, w.rest = f.tag, true
	w.push(f.frame)
	f.feeds.metrics.pushes.Inc()
}
