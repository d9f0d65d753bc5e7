package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPageIsReadOncePerTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		reader.readTime = 20 * time.Millisecond
		display := reader.newDisplay()
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				query := Query{Window: All}
				if i%2 == 0 { // the same query with explicit defaults
					query.Order, query.Kind, query.Limit = ByValue, Players, DefaultLimit
				}
				for range 10 {
					if _, err := display.Page(t.Context(), "demo", query); err != nil {
						t.Error(err)
					}
					time.Sleep(pageTTL / 20)
				}
			})
		}
		group.Wait()
		if n := reader.readCount(); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
		time.Sleep(pageTTL)
		_, _ = display.Page(t.Context(), "demo", Query{Window: All})
		if n := reader.readCount(); n != 1 {
			t.Errorf("after %v: %d reads, want 1", pageTTL, n)
		}
	})
}

func TestDifferentQueriesAreDifferentPages(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	display := reader.newDisplay()
	queries := []Query{
		{Window: All}, {Window: Day}, {Window: All, Order: ByTime},
		{Window: All, Kind: Teams}, {Window: All, Limit: 7}, {Window: All, Cursor: "c"},
		{Window: Day, Date: "2026-11-19"},
		// The following queries are not cached: each request reads them.
		{Around: "p_1"}, {Around: "p_1"}, {Players: "p_1"}, {Players: "p_1"},
	}
	for _, game := range []string{"demo", "other"} {
		for _, query := range queries {
			if _, err := display.Page(t.Context(), game, query); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := reader.readCount(); n != 2*len(queries) {
		t.Errorf("%d reads for %d queries", n, 2*len(queries))
	}
}

func TestErrorsAreNotCached(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	display := reader.newDisplay()
	reader.update(func() { reader.err = errStore })
	if _, err := display.Page(t.Context(), "demo", Query{}); !errors.Is(err, errStore) {
		t.Errorf("the error of the reader became %v", err)
	}
	reader.update(func() { reader.err = nil })
	if _, err := display.Page(t.Context(), "demo", Query{}); err != nil {
		t.Error(err)
	}
}

// A caller that gives up does not cancel the read for the others.
func TestACallerThatGivesUpDoesNotCancelTheRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		reader.readTime = time.Second
		display := reader.newDisplay()
		var group sync.WaitGroup
		for i, timeout := range []time.Duration{time.Millisecond, time.Minute, 10 * time.Millisecond} {
			group.Go(func() {
				time.Sleep(time.Duration(i)) // the first caller starts the read
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				_, err := display.Page(ctx, "demo", Query{})
				if want := map[int]error{2: context.DeadlineExceeded}[i]; !errors.Is(err, want) {
					t.Errorf("%d: %v, want %v", i, err, want)
				}
			})
		}
		group.Wait()
		if n := reader.readCount(); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}

func TestAReadThatPanicsReleasesWaiters(t *testing.T) {
	t.Parallel()
	cache := newPageCache(newFakeReader().newDisplay().metrics)
	func() {
		defer func() { _ = recover() }()
		_, _ = cache.get(t.Context(), pageKey{}, func(context.Context) (Answer, error) { panic("a secret") })
	}()
	if _, err := cache.get(t.Context(), pageKey{}, func(context.Context) (Answer, error) { return Answer{}, nil }); err != nil {
		t.Error(err)
	}
}

func TestEqualAnswersHaveEqualTags(t *testing.T) {
	t.Parallel()
	first, same, other := EncodeAnswer(1), EncodeAnswer(1), EncodeAnswer(2)
	if first.ETag != same.ETag || first.ETag == other.ETag || len(first.ETag) != 16 {
		t.Errorf("tags %q %q %q", first.ETag, same.ETag, other.ETag)
	}
}

func TestIsPastDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 59, 59, 0, time.UTC)
	for date, want := range map[string]bool{"": false, "2026-11-19": true, "2026-11-20": false, "2026-11-21": false, "never": false} {
		if got := isPastDay(date, now.UnixMilli()); got != want {
			t.Errorf("%q is over: %v", date, got)
		}
	}
	if !isPastDay("2026-11-20", now.Add(time.Second).UnixMilli()) {
		t.Error(fmt.Sprint("2026-11-20 is not over at ", now.Add(time.Second)))
	}
}
