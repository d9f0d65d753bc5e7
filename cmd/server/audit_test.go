package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/cli"
	"laststand/internal/config"
)

// The audit log records what operators do, through the admin API and by commands, with the
// actor and the status.
func TestTheAuditLogHasAdminRequestsAndCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, fastDuelsConfig)})
	node.run(t, 0, "boards", "rebuild", "--game=demo")
	node.run(t, 1, "boards", "disqualify", "--game=demo", "--match=m_none", "--reason=s3cret")
	resumed := send(t, http.MethodPost, node.opsURL+"/admin/v1/games/demo/queue/resume", node.token(t, "admin", "eve"), nil)
	listed := node.run(t, 0, "audit", "list", "--game=demo")
	lines := strings.Split(strings.TrimSpace(listed), "\n")
	if len(lines) != 4 {
		t.Fatal(listed)
	}
	for i, want := range [][]string{
		{"eve ", "POST /admin/v1/games/{game}/queue/resume ", " 200 ", resumed.header.Get("X-Request-Id")},
		{"command ", "POST /admin/v1/games/{game}/corrections ", " match=m_none ", " 404 "},
		{"command ", "POST /admin/v1/games/{game}/leaderboards/rebuild ", " 202 "},
	} {
		if !containsAll(lines[i+1], want) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i+1], want)
		}
	}
	if strings.Contains(listed, "s3cret") {
		t.Error("the audit log shows the reason")
	}
	if lastEntry := node.run(t, 0, "audit", "list", "--actor=command", "--limit=1"); strings.Count(lastEntry, "\n") != 3 || !strings.Contains(lastEntry, "corrections") {
		t.Errorf("the last audit entry of the commands: %s", lastEntry)
	}
}

// fakeAuditEntries is a store with oldEntries old audit entries. Its first failures calls fail.
// askedAges has the age that each call gave.
type fakeAuditEntries struct {
	mu         sync.Mutex
	failures   int
	oldEntries int64
	askedAges  []time.Duration
}

func (f *fakeAuditEntries) ForgetAuditEntries(_ context.Context, age time.Duration, limit int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.askedAges = append(f.askedAges, age)
	if f.failures--; f.failures >= 0 {
		return 0, errors.New("the database is down")
	}
	deleted := min(f.oldEntries, int64(limit))
	f.oldEntries -= deleted
	return deleted, nil
}

func (f *fakeAuditEntries) remaining() (oldEntries int64, askedAges []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.oldEntries, slices.Clone(f.askedAges)
}

func TestOldAuditEntriesAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeAuditEntries{failures: 1, oldEntries: 2*auditCleanupBatch + 1}
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			_ = nowAndEvery(auditCleanupInterval, deleteOldAudit(store, config.Audit{RetentionDays: 400}.Retention(), discardLog()))(ctx)
		}()
		time.Sleep(auditCleanupInterval - time.Nanosecond)
		synctest.Wait()
		if remaining, _ := store.remaining(); remaining != 2*auditCleanupBatch+1 {
			t.Error("entries were deleted before the first interval ended")
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		if remaining, askedAges := store.remaining(); remaining != 0 || len(askedAges) != 4 || askedAges[0] != 400*24*time.Hour {
			t.Errorf("%d old entries are left; the calls asked for the ages %v", remaining, askedAges)
		}
		stop()
		synctest.Wait()
	})
}
