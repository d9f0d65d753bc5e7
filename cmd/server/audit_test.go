package main

import (
	"net/http"
	"strings"
	"testing"

	"laststand/internal/cli"
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
