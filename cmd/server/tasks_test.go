package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	l, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: discardLog()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	task := taskqueue.Task{Game: "demo", Topic: taskqueue.SettleTopic, Key: id, Payload: deadLetterPayload(t, id, player, -1)}
	if err := task.Fail(1795212345678, errors.New("a score below 0")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AddTask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
}

func deadLetterPayload(t *testing.T, id, player string, score int64) []byte {
	t.Helper()
	r := match.Result{
		Match: id, Game: "demo", Mode: match.Duel, Reason: match.ReasonFinished, Questions: 1, CountsForLeaderboards: true, StartedAt: 1, OverAt: 2,
		Standings: []match.Standing{{Rank: 1, Player: player, Score: score, Asked: 1, Answered: 1, Correct: 1, TimeMS: 1, LimitMS: 2}},
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
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
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		n := startNode(t, cli{Data: &db.Dir, Database: &db.URL})
		run := commandRunner(t, n, ledgerFlags(db)...)
		c := newDuelClient(t, n.url, "demo")
		addDeadLetter(t, db, "m_dead", c.id)
		addDeadLetter(t, db, "m_worse", "p_nobody")
		listed, _ := run(0, "tasks", "list", "--game=demo")
		checkMessage(t, listed, "m_dead", "m_worse", "a score below 0")
		id, worse := findTaskID(t, listed, "m_dead"), findTaskID(t, listed, "m_worse")

		shown, _ := run(0, "tasks", "show", id)
		var task taskqueue.Task
		if err := json.Unmarshal([]byte(shown), &task); err != nil || task.Key != "m_dead" || task.Tries != 1 || len(task.Payload) == 0 {
			t.Errorf("%v: %s", err, shown)
		}
		out, stderr := run(1, "tasks", "requeue", id)
		checkMessage(t, out+stderr, id+": dead: ", "negative", "still dead: 1")

		file := filepath.Join(t.TempDir(), "edited.json")
		if err := os.WriteFile(file, deadLetterPayload(t, "m_dead", c.id, 150), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stderr = run(1, "tasks", "edit", worse, file)
		checkMessage(t, stderr, "m_worse")
		run(0, "tasks", "edit", id, file)
		out, stderr = run(1, "tasks", "requeue", "--all")
		checkMessage(t, out+stderr, id+": done", worse+": dead: ", "still dead: 1")
		c.readUntilPush(t, protocol.TypeSettled)
		if p := getProfile(t, n.url, "demo", c.id); p != (profile{Score: 150, Matches: 1, Asked: 1}) {
			t.Errorf("the profile is %+v", p)
		}

		out, stderr = run(1, "tasks", "discard", "none", worse, id)
		checkMessage(t, out+stderr, "none: ", "no such task", worse+": discarded", id+": ", "is done")
		if out, _ = run(0, "tasks", "list"); strings.Count(out, "\n") != 1 {
			t.Errorf("dead letters are still listed:\n%s", out)
		}
		out, _ = run(0, "tasks", "list", "--state=all")
		checkMessage(t, out, "done", "discarded")

		addDeadLetter(t, db, "m_many", "p_nobody")
		addDeadLetter(t, db, "m_more", "p_nobody")
		run(0, "tasks", "discard", "--all", "--topic=nothing")
		listed, _ = run(0, "tasks", "list")
		checkMessage(t, listed, "m_many", "m_more")
		out, _ = run(0, "tasks", "discard", "--all", "--game=demo", "--topic=settle")
		checkMessage(t, out, findTaskID(t, listed, "m_many")+": discarded", findTaskID(t, listed, "m_more")+": discarded")
	})
}

// Operators can edit, discard and requeue tasks of any topic. `task-queues list` prints a line per
// task queue.
func TestTaskCommandsHandleAnyTopic(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		n := startNode(t, cli{Data: &db.Dir, Database: &db.URL})
		request := commandRunner(t, n, ledgerFlags(db)...)
		run := func(words ...string) string {
			t.Helper()
			out, stderr := request(0, words...)
			return out + stderr
		}
		l, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: discardLog()})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		in, err := l.Enqueue(t.Context(), []taskqueue.NewTask{
			{Game: "demo", Topic: "mail/a", Key: "k1", Payload: []byte("1")}, {Game: "demo", Topic: "mail/a", Key: "k2", Payload: []byte("2")},
			{Game: "demo", Topic: "mail/b", Key: "k3", Priority: 5, Payload: []byte("3")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if tasks, err := l.Claim(t.Context(), "mail", 2, time.Minute); err != nil || len(tasks) != 2 {
			t.Fatalf("%d claimed, %v", len(tasks), err)
		}
		checkMessage(t, run("task-queues", "list", "--busy", "--limit=1"), "mail/a  0 ", "there are more than 1")
		checkMessage(t, run("task-queues", "list", "--kind=mail"), "mail/a  0 ", "mail/b  5 ")
		_, line, _ := strings.Cut(run("task-queues", "list", "--topic=mail/a"), "\n")
		if got, want := strings.Fields(line), strings.Fields("mail/a 0 - 2 1 0 1 1 -"); !slices.Equal(got, want) {
			t.Errorf("the line is %q, want %q", got, want)
		}
		file := filepath.Join(t.TempDir(), "payload.json")
		if err := os.WriteFile(file, []byte(`{"mended":true}`), 0o600); err != nil {
			t.Fatal(err)
		}
		id := in[0].ID
		run("tasks", "edit", id, file)
		checkMessage(t, run("tasks", "discard", id), id+": discarded")
		checkMessage(t, run("tasks", "requeue", id), id+": waiting")
		checkMessage(t, run("tasks", "show", id), `"mended": true`, `"state": "waiting"`)
	})
}

// Commands that cannot reach the server, or that it refuses, print what is wrong.
func TestRefusedCommandsPrintTheReason(t *testing.T) {
	t.Parallel()
	data, other := "--data="+t.TempDir(), "--data="+t.TempDir()
	n := startNode(t, cli{Data: ptr(strings.TrimPrefix(data, "--data="))})
	here := "--ops-listen=" + strings.TrimPrefix(n.opsURL, "http://")
	for line, want := range map[string]string{
		"tasks list " + data + " --ops-listen=127.0.0.1:1":                               "no server answers at 127.0.0.1:1",
		"tasks list " + other + " " + here:                                               "has another key",
		"tasks list " + data + " --ops-listen=" + strings.TrimPrefix(n.url, "http://"):   "is not the operations address",
		"tasks show nope " + data + " " + here:                                           "no such task",
		"tasks requeue " + data + " " + here:                                             "--all",
		"tasks requeue x --all " + data + " " + here:                                     "--all",
		"tasks discard " + data + " " + here:                                             "--all",
		"task-queues list --limit=0 " + data + " " + here:                                "1 or more",
		"tasks edit x /nowhere/x.json " + data + " " + here:                              "/nowhere/x.json",
		"boards verify --game nope " + data + " " + here:                                 "there are: demo",
		"boards rebuild --game nope " + data + " " + here:                                "there are: demo",
		"boards disqualify --game demo --match m_nope --reason why " + data + " " + here: "no such match",
	} {
		code, out, stderr := command(strings.Fields(line)...)
		if code != 1 || out != "" && !strings.HasPrefix(out, "ID") || !strings.Contains(stderr, want) {
			t.Errorf("%q ended with %d, printed %q and the error %q, want %q", line, code, out, stderr, want)
		}
	}
}

// The admin API accepts only tokens of admins.
func TestAdminAPIAcceptsOnlyAdminTokens(t *testing.T) {
	t.Parallel()
	data := "--data=" + t.TempDir()
	n := startNode(t, cli{Data: ptr(strings.TrimPrefix(data, "--data="))})
	for role, want := range map[string]int{"admin": http.StatusOK, "service": http.StatusUnauthorized, "player": http.StatusUnauthorized} {
		words := []string{"token", data, "--role=" + role, "--sub=ops"}
		if role != "admin" {
			words = append(words, "--game=demo")
		}
		_, token, _ := command(words...)
		if status := getAs(t, n.opsURL+"/admin/v1/tasks", strings.TrimSpace(token)); status != want {
			t.Errorf("a token of role %s gets %d, want %d", role, status, want)
		}
	}
}
