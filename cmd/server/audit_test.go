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
	nodeFlags := []string{"--data=" + dir, "--ops-listen=" + strings.TrimPrefix(node.opsURL, "http://")}
	if code, _, stderr := command(append(nodeFlags, "boards", "rebuild", "--game=demo")...); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, _ := command(append(nodeFlags, "boards", "disqualify", "--game=demo", "--match=m_none", "--reason=s3cret")...); code != 1 {
		t.Error("a correction of an unknown match succeeded")
	}
	_, token, _ := command(append(nodeFlags, "token", "--role=admin", "--sub=eve")...)
	request, err := http.NewRequest(http.MethodPost, node.opsURL+"/admin/v1/games/demo/queue/resume", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	_, listed, stderr := command(append(nodeFlags, "audit", "list", "--game=demo")...)
	lines := strings.Split(strings.TrimSpace(listed), "\n")
	if len(lines) != 4 {
		t.Fatalf("%s%s", listed, stderr)
	}
	for i, want := range [][]string{
		{"eve ", "POST /admin/v1/games/{game}/queue/resume ", " 200 ", response.Header.Get("X-Request-Id")},
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
	if _, lastEntry, _ := command(append(nodeFlags, "audit", "list", "--actor=command", "--limit=1")...); strings.Count(lastEntry, "\n") != 2 || !strings.Contains(lastEntry, "corrections") {
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
