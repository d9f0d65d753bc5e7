package leaderboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
	return NewDisplay(f, f, func() int64 { return time.Now().UnixMilli() }, prometheus.NewRegistry())
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

func (f *fakeReader) Listing(ctx context.Context, _ string) (Listing, error) {
	_, err := f.read(ctx)
	return Listing{Day: "2026-11-20"}, err
}

func (f *fakeReader) Page(ctx context.Context, game string, query Query) (Page, error) {
	total, err := f.read(ctx)
	limit := cmp.Or(query.Limit, DefaultLimit)
	page := Page{Game: game, Window: query.Window, Order: cmp.Or(query.Order, ByValue), Total: total, Entries: []Entry{}}
	f.update(func() {
		for i := range min(limit, f.entryCount) {
			page.Entries = append(page.Entries, Entry{Rank: 1, ID: fmt.Sprint("p_", i+1), Accuracy: 0.5})
			page.rows = append(page.rows, RankedEntry{BoardEntry: BoardEntry{ID: page.Entries[i].ID, Newest: int64(i)}})
			if i == f.entryCount-1 {
				page.Entries[i].Value = f.lastValue
			}
		}
		if limit < f.entryCount {
			page.NextCursor = cursor{page.rankingID, After, page.rows[limit-1].edge()}.String()
		}
	})
	return page, err
}

func (f *fakeReader) Standing(ctx context.Context, _ string, query StandingQuery) (Standing, error) {
	total, err := f.read(ctx)
	return Standing{Entry: Entry{Rank: 1, ID: query.Player}, Total: total}, err
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
