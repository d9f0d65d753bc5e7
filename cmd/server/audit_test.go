package main

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/testenv"
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

// The server deletes the entries of the audit log that are older than audit.retention_days, 400
// by default.
func TestOldAuditEntriesAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := cli.Flags{Data: &dir, Config: configFile(t, fastDuelsConfig)}
	node := startNode(t, flags)
	node.run(t, 0, "boards", "rebuild", "--game=demo")
	node.run(t, 1, "boards", "disqualify", "--game=demo", "--match=m_none", "--reason=old")
	node.stop()
	db := testenv.Need(sql.Open("sqlite", filepath.Join(dir, "laststand.db")))(t)
	for action, days := range map[string]int{"%rebuild": 399, "%corrections": 401} {
		testenv.Need(db.Exec("UPDATE audit_log SET at = $1 WHERE action LIKE $2", time.Now().AddDate(0, 0, -days).UnixMilli(), action))(t)
	}
	testenv.NoError(t, db.Close())
	node = startNode(t, flags)
	waitUntil(t, "the old entry is deleted", func() bool {
		listed := node.run(t, 0, "audit", "list", "--game=demo")
		if !strings.Contains(listed, "rebuild") {
			t.Fatalf("an entry of 399 days is missing: %s", listed)
		}
		return !strings.Contains(listed, "corrections")
	})
}
