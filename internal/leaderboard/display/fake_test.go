package display

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var errStore = errors.New("the store is unavailable")

// fakeReader is a Reader and a NameSource. All its windows have the same entries.
type fakeReader struct {
	slow time.Duration // duration of each read

	mu    sync.Mutex
	total int64             // total number of entries that pages report
	size  int               // number of entries that pages can have
	last  int64             // value of the last entry
	fail  error             // returned by each read; nil: none
	reads int               // number of reads since readCount
	asked [][]string        // ids of each call of Nicknames
	names map[string]string // by player id
}

func newFakeReader() *fakeReader {
	return &fakeReader{total: 1, size: 2, names: map[string]string{"p_1": "Ada", "p_2": "Bob"}}
}

func (h *fakeReader) Show() *Display {
	return New(Config{Reader: h, Names: h, Now: func() int64 { return time.Now().UnixMilli() }, Registry: prometheus.NewRegistry()})
}

// update calls change under the lock of the fake.
func (h *fakeReader) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// readCount returns the number of reads since its last call.
func (h *fakeReader) readCount() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.reads
	h.reads = 0
	return n
}

func (h *fakeReader) read(ctx context.Context) (int64, error) {
	if h.slow > 0 {
		select {
		case <-time.After(h.slow):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	return h.total, h.fail
}

func (h *fakeReader) Listing(ctx context.Context, _ string) (leaderboard.Listing, error) {
	_, err := h.read(ctx)
	return leaderboard.Listing{Day: "2026-11-20"}, err
}

func (h *fakeReader) Page(ctx context.Context, game string, q leaderboard.Query) (leaderboard.Page, error) {
	total, err := h.read(ctx)
	limit := cmp.Or(q.Limit, leaderboard.DefaultLimit)
	p := leaderboard.Page{
		Game: game, Window: q.Window, Order: cmp.Or(q.Order, leaderboard.ByValue), Total: total,
		Entries: []leaderboard.Entry{}, NextCursor: h.next(limit),
	}
	h.set(func() {
		for i := range min(limit, h.size) {
			p.Entries = append(p.Entries, leaderboard.Entry{Rank: 1, ID: fmt.Sprint("p_", i+1), Accuracy: 0.5})
			if i == h.size-1 {
				p.Entries[i].Value = h.last
			}
		}
	})
	return p, err
}

func (h *fakeReader) Top(ctx context.Context, game string, q leaderboard.Query) (leaderboard.TopPage, error) {
	p, err := h.Page(ctx, game, q)
	return leaderboard.TopPage{Page: p, Next: h.next}, err
}

// next returns the cursor of a page with the first n entries.
func (h *fakeReader) next(n int) (cursor string) {
	h.set(func() {
		if n < h.size {
			cursor = fmt.Sprint("behind-", n)
		}
	})
	return cursor
}

func (h *fakeReader) Standing(ctx context.Context, _ string, q leaderboard.StandingQuery) (leaderboard.Standing, error) {
	total, err := h.read(ctx)
	return leaderboard.Standing{Entry: leaderboard.Entry{Rank: 1, ID: q.Player}, Total: total}, err
}

func (h *fakeReader) Nicknames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, ids)
	found := map[string]string{}
	for _, id := range ids {
		if name, ok := h.names[id]; ok {
			found[id] = name
		}
	}
	return found, h.fail
}

func (h *fakeReader) TeamNames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	found := map[string]string{}
	for _, id := range ids {
		found[id] = "Team " + id
	}
	return found, nil
}
