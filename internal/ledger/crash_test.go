package ledger

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

const crashDir = "LASTSTAND_LEDGER_CRASH_DIR"

// TestCommitUntilKilled is the process that TestAKilledProcessLosesNoCommittedResult
// kills. When it is run directly, it does nothing.
func TestCommitUntilKilled(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return
	}
	l := openConfig(t, Config{Dir: dir})
	for i := 0; ; i++ {
		id := fmt.Sprint("m", i)
		testenv.Need(l.Results.Commit(t.Context(), results(duel(id, int64(i), "p1", "p2"))))(t)
		fmt.Println("committed", id)
	}
}

// A process is killed while it commits. Every result whose commit has returned is in the
// ledger exactly, and the ledger can be used again.
func TestAKilledProcessLosesNoCommittedResult(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	found := killAfterLines(t, "TestCommitUntilKilled", crashDir+"="+dir, 30)
	l := openConfig(t, Config{Dir: dir})
	for _, id := range found {
		testenv.Need(l.History.Match(t.Context(), game, id))(t)
	}
	checkComplete(t, l, len(found))
	if done := testenv.Need(l.Results.Commit(t.Context(), results(duel(found[0], 0, "p1", "p2"), duel("next", 1, "p1"))))(t); done[0].IsNew || !done[1].IsNew {
		t.Errorf("after the crash: %+v", done)
	}
}

// killAfterLines runs a test in a separate process, with an environment variable, and kills
// it after it has reported n commits.
func killAfterLines(t *testing.T, test, variable string, n int) (found []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), variable)
	out := testenv.Need(cmd.StdoutPipe())(t)
	testenv.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "committed "); ok {
			found = append(found, id)
		}
		if len(found) == n {
			cancel()
		}
	}
	if err := cmd.Wait(); err == nil || len(found) < n {
		t.Fatalf("the process ended after %d commits: %v", len(found), err)
	}
	return found
}

// checkComplete checks that each match has its two entries, positions have no gap
// and the first entry starts the first day.
func checkComplete(t *testing.T, l *Ledger, atLeast int) {
	t.Helper()
	rows := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 0, 100_000))(t)
	if len(rows)%2 != 1 || len(rows) < 1+2*atLeast || rows[0].Kind != leaderboard.DayStartRow {
		t.Fatalf("%d rows for at least %d matches", len(rows), atLeast)
	}
	for i, r := range rows {
		if r.Pos != int64(i)+1 {
			t.Fatalf("position %d at place %d", r.Pos, i+1)
		}
	}
	if head := readHead(t, l); head.Pos != rows[len(rows)-1].Pos {
		t.Errorf("head %+v, last position %d", head, rows[len(rows)-1].Pos)
	}
}

// A database server is killed and restarted. The errors say that it is temporary. The same
// ledger continues and has all committed results.
func TestAKilledDatabaseServerLosesNoCommittedResult(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	l := openConfig(t, Config{URL: server.URL})
	const before = 10
	for i := range before {
		testenv.Need(l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", i), 1, "p1", "p2"))))(t)
	}
	server.Kill()
	found, err := before, error(nil)
	for ; err == nil; found++ { // a connection's process may outlive the server for a moment
		_, err = l.Results.Commit(t.Context(), results(duel(fmt.Sprint("m", found), 1, "p1", "p2")))
	}
	if !IsUnavailable(err) {
		t.Fatalf("commit while the server is down: %v", err)
	}
	server.Restart()
	done, err := l.Results.Commit(t.Context(), results(duel("m0", 1, "p1", "p2"), duel(fmt.Sprint("m", found-1), 1, "p1", "p2")))
	if err != nil || done[0].IsNew {
		t.Fatalf("commit after the restart: %+v, %v", done, err)
	}
	checkComplete(t, l, found)
}

// A second process reads and writes the same embedded database at the same time as the
// first.
func TestTwoProcessesUseOneSQLiteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, second := openConfig(t, Config{Dir: dir}), openConfig(t, Config{Dir: dir})
	runConcurrently(8, func(i int) {
		l := []*Ledger{server, second}[i%2]
		for j := range 10 {
			if _, err := l.Results.Commit(t.Context(), results(duel(fmt.Sprintf("m%d-%d", i, j), 1, "p1", "p2"))); err != nil {
				t.Error(err)
			}
		}
	})
	checkComplete(t, second, 80)
}
