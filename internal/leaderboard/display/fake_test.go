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
	readTime time.Duration // duration of each read

	mu           sync.Mutex
	total        int64             // total number of entries that pages report
	entryCount   int               // number of entries that pages can have
	lastValue    int64             // value of the last entry
	err          error             // returned by each read; nil: none
	reads        int               // number of reads since readCount
	nameRequests [][]string        // ids of each call of Nicknames
	names        map[string]string // by player id
}

func newFakeReader() *fakeReader {
	return &fakeReader{total: 1, entryCount: 2, names: map[string]string{"p_1": "Ada", "p_2": "Bob"}}
}

func (f *fakeReader) newDisplay() *Display {
	return New(Config{Reader: f, Names: f, Now: func() int64 { return time.Now().UnixMilli() }, Registry: prometheus.NewRegistry()})
}

// update calls change under the lock of the fake.
func (f *fakeReader) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// readCount returns the number of reads since its last call.
func (f *fakeReader) readCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.reads
	f.reads = 0
	return n
}

func (f *fakeReader) read(ctx context.Context) (int64, error) {
	if f.readTime > 0 {
		select {
		case <-time.After(f.readTime):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return f.total, f.err
}

func (f *fakeReader) Listing(ctx context.Context, _ string) (leaderboard.Listing, error) {
	_, err := f.read(ctx)
	return leaderboard.Listing{Day: "2026-11-20"}, err
}

func (f *fakeReader) Page(ctx context.Context, game string, query leaderboard.Query) (leaderboard.Page, error) {
	total, err := f.read(ctx)
	limit := cmp.Or(query.Limit, leaderboard.DefaultLimit)
	page := leaderboard.Page{
		Game: game, Window: query.Window, Order: cmp.Or(query.Order, leaderboard.ByValue), Total: total,
		Entries: []leaderboard.Entry{}, NextCursor: f.cursorAfter(limit),
	}
	f.update(func() {
		for i := range min(limit, f.entryCount) {
			page.Entries = append(page.Entries, leaderboard.Entry{Rank: 1, ID: fmt.Sprint("p_", i+1), Accuracy: 0.5})
			if i == f.entryCount-1 {
				page.Entries[i].Value = f.lastValue
			}
		}
	})
	return page, err
}

func (f *fakeReader) Top(ctx context.Context, game string, query leaderboard.Query) (leaderboard.TopPage, error) {
	page, err := f.Page(ctx, game, query)
	return leaderboard.TopPage{Page: page, CursorAfter: f.cursorAfter}, err
}

// cursorAfter returns the next cursor of a page with the first n entries; "" if there are no
// more.
func (f *fakeReader) cursorAfter(n int) (cursor string) {
	f.update(func() {
		if n < f.entryCount {
			cursor = fmt.Sprint("after-", n)
		}
	})
	return cursor
}

func (f *fakeReader) Standing(ctx context.Context, _ string, query leaderboard.StandingQuery) (leaderboard.Standing, error) {
	total, err := f.read(ctx)
	return leaderboard.Standing{Entry: leaderboard.Entry{Rank: 1, ID: query.Player}, Total: total}, err
}

func (f *fakeReader) Nicknames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nameRequests = append(f.nameRequests, ids)
	found := map[string]string{}
	for _, id := range ids {
		if name, ok := f.names[id]; ok {
			found[id] = name
		}
	}
	return found, f.err
}

func (f *fakeReader) TeamNames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	found := map[string]string{}
	for _, id := range ids {
		found[id] = "Team " + id
	}
	return found, nil
}
