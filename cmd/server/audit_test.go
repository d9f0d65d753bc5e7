package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The audit log records what operators do, through the admin API and by commands, with the
// actor and the status.
func TestAuditLogOfAdminRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: configFile(t, fastDuels)})
	here := []string{"--data=" + dir, "--ops-listen=" + strings.TrimPrefix(n.opsURL, "http://")}
	if code, _, stderr := command(append(here, "boards", "rebuild", "--game=demo")...); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, _ := command(append(here, "boards", "disqualify", "--game=demo", "--match=m_none", "--reason=s3cret")...); code != 1 {
		t.Error("a correction of an unknown match succeeded")
	}
	_, token, _ := command(append(here, "token", "--role=admin", "--sub=eve")...)
	r, err := http.NewRequest(http.MethodPost, n.opsURL+"/admin/v1/games/demo/queue/resume", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	_, listed, stderr := command(append(here, "audit", "list", "--game=demo")...)
	lines := strings.Split(strings.TrimSpace(listed), "\n")
	if len(lines) != 4 {
		t.Fatalf("%s%s", listed, stderr)
	}
	for i, want := range [][]string{
		{"eve ", "POST /admin/v1/games/{game}/queue/resume ", " 200 ", answer.Header.Get("X-Request-Id")},
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
	if _, one, _ := command(append(here, "audit", "list", "--actor=command", "--limit=1")...); strings.Count(one, "\n") != 2 || !strings.Contains(one, "corrections") {
		t.Errorf("the last audit entry of the commands: %s", one)
	}
}

// fakeAuditEntries is a store with oldEntries old audit entries. Its first failures calls fail.
// askedAges has the age that each call gave.
type fakeAuditEntries struct {
	mu       sync.Mutex
	failures int
	old      int64
	asked    []time.Duration
}

func (f *fakeAuditEntries) ForgetAuditEntries(_ context.Context, older time.Duration, limit int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, older)
	if f.failures--; f.failures >= 0 {
		return 0, errors.New("the database is down")
	}
	n := min(f.old, int64(limit))
	f.old -= n
	return n, nil
}

func (f *fakeAuditEntries) remaining() (old int64, asked []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.old, slices.Clone(f.asked)
}

func TestOldAuditEntriesAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeAuditEntries{failures: 1, old: 2*auditCleanupBatch + 1}
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = auditCleaner{f, auditConfig{400}.retention(), slog.New(slog.DiscardHandler)}.Run(ctx) }()
		time.Sleep(auditCleanupInterval - time.Nanosecond)
		synctest.Wait()
		if old, _ := f.remaining(); old != 2*auditCleanupBatch+1 {
			t.Error("entries were deleted before the first interval ended")
		}
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		if old, asked := f.remaining(); old != 0 || len(asked) != 4 || asked[0] != 400*24*time.Hour {
			t.Errorf("%d old entries are left; the calls asked for the ages %v", old, asked)
		}
		stop()
		synctest.Wait()
	})
}
