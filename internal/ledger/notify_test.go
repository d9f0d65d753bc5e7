package ledger

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// listener is a process that receives notifications of other processes.
type listener struct {
	*Ledger

	mu    sync.Mutex
	kinds []string
	began int // how often it began to listen
}

// listen opens a ledger that listens until the test ends. It returns after it has
// subscribed.
func listen(t *testing.T, db testenv.SQL) *listener {
	t.Helper()
	p := &listener{Ledger: openLedger(t, db)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Notifications.Listen(ctx, p.onKinds) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if db.URL != "" {
		waitUntil(t, func() bool { return p.times() == 1 })
	}
	return p
}

func (p *listener) onKinds(kinds []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(kinds) == 0 {
		p.began++
	}
	p.kinds = append(p.kinds, kinds...)
}

func (p *listener) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began
}

func (p *listener) received() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.kinds)
}

func TestProcessesNotifyEachOther(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		one, other := listen(t, db), listen(t, db)
		if err := one.Notifications.Notify(t.Context(), []string{"work", "webhook"}); err != nil {
			t.Fatal(err)
		}
		if db.URL == "" { // there is no other process
			if got := other.received(); len(got) > 0 {
				t.Errorf("received %q", got)
			}
			return
		}
		waitUntil(t, func() bool { return slices.Equal(other.received(), []string{"work", "webhook"}) })
		if err := other.Notifications.Notify(t.Context(), []string{"back"}); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return slices.Equal(one.received(), []string{"back"}) })
		if got := other.received(); len(got) != 2 {
			t.Errorf("it received its own notification: %q", got)
		}
	})
}

// Notifications about a thousand kinds with the longest names are all received.
func TestManyKindsAreNotified(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	one, other := listen(t, db), listen(t, db)
	all := names(strings.Repeat("k", 197), 1000)
	if err := one.Notifications.Notify(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return slices.Equal(other.received(), all) })
}

// Listen reconnects after a lost connection, and reports that notifications may be lost.
func TestListenReconnectsAfterALostConnection(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	one, other := listen(t, db), listen(t, db)
	for times := 2; times <= 3; times++ {
		_, err := one.exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
		if err != nil {
			t.Fatal(err)
		}
		waitUntil(t, func() bool { return one.times() == times && other.times() == times })
	}
	if err := one.Notifications.Notify(t.Context(), []string{"work"}); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return slices.Equal(other.received(), []string{"work"}) })
}

// While the database is down, neither Notify nor Listen ends its process. After that,
// Listen receives notifications again.
func TestListenReconnectsAfterADatabaseRestart(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	db := testenv.SQL{URL: server.URL}
	one, other := listen(t, db), listen(t, db)
	server.Kill()
	if err := one.Notifications.Notify(t.Context(), []string{"lost"}); !IsUnavailable(err) {
		t.Errorf("notify without listener: %v", err)
	}
	server.Restart()
	waitUntil(t, func() bool { return one.times() == 2 && other.times() == 2 })
	waitUntil(t, func() bool { return one.Notifications.Notify(t.Context(), []string{"work"}) == nil })
	waitUntil(t, func() bool { return slices.Contains(other.received(), "work") })
	if slices.Contains(other.received(), "lost") {
		t.Error("received a notification that was not sent")
	}
}

func TestListenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := openLedger(t, db).Notifications.Listen(ctx, func([]string) {}); err != nil {
			t.Error(err)
		}
	})
}
