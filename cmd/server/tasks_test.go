package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// addDeadLetter adds a dead letter to the ledger of a running server: a result of one player
// with a score that the ledger refuses.
func addDeadLetter(t *testing.T, db testenv.SQL, id, player string) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: discardLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	task := taskqueue.Task{Game: "demo", Topic: taskqueue.SettleTopic, Key: id, Payload: deadLetterPayload(t, id, player, -1)}
	testenv.NoError(t, task.Fail(1795212345678, errors.New("a score below 0")))
	if _, err := store.Tasks.AddTask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
}

func deadLetterPayload(t *testing.T, id, player string, score int64) []byte {
	t.Helper()
	result := match.Result{
		Match: id, Game: "demo", Mode: match.Duel, Reason: match.ReasonFinished, Questions: 1, CountsForLeaderboards: true, StartedAt: 1, OverAt: 2,
		Standings: []match.Standing{{Rank: 1, Player: player, Score: score, Asked: 1, Answered: 1, Correct: 1, TimeMS: 1, LimitMS: 2}},
	}
	text := testenv.Need(json.Marshal(result))(t)
	return text
}

// findTaskID finds a task in the output of `tasks list`.
func findTaskID(t *testing.T, listed, key string) string {
	t.Helper()
	for line := range strings.Lines(listed) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == key {
			return fields[0]
		}
	}
	t.Fatalf("no task of %s in\n%s", key, listed)
	return ""
}

// An operator lists, shows, edits and requeues a dead letter. Then the server notifies the
// player, and the result is on the leaderboards.
func TestAnEditedDeadLetterIsSettled(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		node := startNode(t, cli.Flags{Data: &db.Dir, Database: &db.URL})
		run := func(wantCode int, args ...string) string {
			t.Helper()
			return node.run(t, wantCode, args...)
		}
		c := newDuelClient(t, node.url, "demo")
		addDeadLetter(t, db, "m_dead", c.id)
		addDeadLetter(t, db, "m_worse", "p_nobody")
		listed := run(0, "tasks", "list", "--game=demo")
		checkContains(t, listed, "m_dead", "m_worse", "a score below 0")
		id, worseID := findTaskID(t, listed, "m_dead"), findTaskID(t, listed, "m_worse")

		shown := run(0, "tasks", "show", id)
		var task taskqueue.Task
		if err := json.Unmarshal([]byte(shown), &task); err != nil || task.Key != "m_dead" || task.Tries != 1 || len(task.Payload) == 0 {
			t.Errorf("%v: %s", err, shown)
		}
		checkContains(t, run(1, "tasks", "requeue", id), id+": dead: ", "negative", "still dead: 1")

		file := filepath.Join(t.TempDir(), "edited.json")
		testenv.NoError(t, os.WriteFile(file, deadLetterPayload(t, "m_dead", c.id, 150), 0o600))
		checkContains(t, run(1, "tasks", "edit", worseID, file), "m_worse")
		run(0, "tasks", "edit", id, file)
		checkContains(t, run(1, "tasks", "requeue", "--all"), id+": done", worseID+": dead: ", "still dead: 1")
		c.readUntilPush(t, protocol.TypeSettled)
		if p := getProfile(t, node.url, "demo", c.id); p != (playerProfile{Score: 150, Matches: 1, Asked: 1}) {
			t.Errorf("the profile is %+v", p)
		}

		checkContains(t, run(1, "tasks", "discard", "none", worseID, id), "none: ", "no such task", worseID+": discarded", id+": ", "is done")
		if out := run(0, "tasks", "list"); out != "no tasks in state dead; to list other states, use --state, such as --state all\n" {
			t.Errorf("still dead:\n%s", out)
		}
		if out := run(0, "tasks", "list", "--topic=nothing", "--state=all"); out != "no tasks in any state\n" {
			t.Errorf("of no topic:\n%s", out)
		}
		checkContains(t, run(0, "tasks", "list", "--state=all"), "done", "discarded")

		addDeadLetter(t, db, "m_many", "p_nobody")
		addDeadLetter(t, db, "m_more", "p_nobody")
		run(0, "tasks", "discard", "--all", "--topic=nothing")
		listed = run(0, "tasks", "list")
		checkContains(t, listed, "m_many", "m_more")
		checkContains(t, run(0, "tasks", "discard", "--all", "--game=demo", "--topic=settle"), findTaskID(t, listed, "m_many")+": discarded", findTaskID(t, listed, "m_more")+": discarded")
	})
}

// Operators can edit, discard and requeue tasks of any topic. `task-queues list` prints a line per
// task queue.
func TestTaskCommandsHandleAnyTopic(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		node := startNode(t, cli.Flags{Data: &db.Dir, Database: &db.URL})
		run := func(args ...string) string {
			t.Helper()
			return node.run(t, 0, args...)
		}
		store, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: discardLog()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		enqueued, err := store.Tasks.Enqueue(t.Context(), []taskqueue.NewTask{
			{Game: "demo", Topic: "mail/a", Key: "k1", Payload: []byte("1")}, {Game: "demo", Topic: "mail/a", Key: "k2", Payload: []byte("2")},
			{Game: "demo", Topic: "mail/b", Key: "k3", Priority: 5, Payload: []byte("3")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if tasks, err := store.Claims.Claim(t.Context(), "mail", 2, time.Minute); err != nil || len(tasks) != 2 {
			t.Fatalf("%d claimed, %v", len(tasks), err)
		}
		checkContains(t, run("task-queues", "list", "--busy", "--limit=1"), "mail/a  0 ", "there are more than 1")
		checkContains(t, run("task-queues", "list", "--kind=mail"), "mail/a  0 ", "mail/b  5 ")
		_, line, _ := strings.Cut(run("task-queues", "list", "--topic=mail/a"), "\n")
		if got, want := strings.Fields(line), strings.Fields("mail/a 0 - 2 1 0 1 1 -"); !slices.Equal(got, want) {
			t.Errorf("the line is %q, want %q", got, want)
		}
		file := filepath.Join(t.TempDir(), "payload.json")
		testenv.NoError(t, os.WriteFile(file, []byte(`{"mended":true}`), 0o600))
		id := enqueued[0].ID
		run("tasks", "edit", id, file)
		checkContains(t, run("tasks", "discard", id), id+": discarded")
		checkContains(t, run("tasks", "requeue", id), id+": waiting")
		checkContains(t, run("tasks", "show", id), `"mended": true`, `"state": "waiting"`)
	})
}

// Commands that cannot reach the server, or that it refuses, print what is wrong.
func TestRefusedCommandsPrintTheReason(t *testing.T) {
	t.Parallel()
	dataFlag, otherData := "--data="+t.TempDir(), "--data="+folderWithDatabase(t)
	node := startNode(t, cli.Flags{Data: ptr(strings.TrimPrefix(dataFlag, "--data="))})
	opsFlag := "--ops-listen=" + strings.TrimPrefix(node.opsURL, "http://")
	for line, want := range map[string]string{
		"tasks list " + dataFlag + " --ops-listen=127.0.0.1:1":                                  "no server answers at 127.0.0.1:1",
		"tasks list " + otherData + " " + opsFlag:                                               "as the server, or the --ops-listen of your server",
		"tasks list " + dataFlag + " --ops-listen=" + strings.TrimPrefix(node.url, "http://"):   "is not the operations address",
		"tasks show nope " + dataFlag + " " + opsFlag:                                           "no such task",
		"tasks requeue " + dataFlag + " " + opsFlag:                                             "--all",
		"tasks requeue x --all " + dataFlag + " " + opsFlag:                                     "--all",
		"tasks discard " + dataFlag + " " + opsFlag:                                             "--all",
		"task-queues list --limit=0 " + dataFlag + " " + opsFlag:                                "1 or more",
		"tasks edit x /nowhere/x.json " + dataFlag + " " + opsFlag:                              "/nowhere/x.json",
		"boards verify --game nope " + dataFlag + " " + opsFlag:                                 "there are: demo",
		"boards rebuild --game nope " + dataFlag + " " + opsFlag:                                "there are: demo",
		"boards disqualify --game demo --match m_nope --reason why " + dataFlag + " " + opsFlag: "no such match",
	} {
		code, out, stderr := command(strings.Fields(line)...)
		if code != 1 || out != "" && !strings.HasPrefix(out, "ID") || !strings.Contains(stderr, want) {
			t.Errorf("%q ended with %d, printed %q and the error %q, want %q", line, code, out, stderr, want)
		}
	}
}
