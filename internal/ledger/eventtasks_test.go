package ledger

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/answers"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// endpoints wants tasks for every result and every day. Each endpoint has one queue per
// game, except "all", which has one queue for all games.
type endpoints []string

func (e endpoints) TasksForResult(r *match.Result, at int64) (tasks []taskqueue.NewTask) {
	for _, name := range e {
		topic := "webhook/" + r.Game + "/" + name
		if name == "all" {
			topic = "webhook/all"
		}
		tasks = append(tasks, taskqueue.NewTask{Game: r.Game, Topic: topic, Key: r.Match, Payload: fmt.Appendf(nil, `[%d,%t]`, at, r.CountsForLeaderboards)})
	}
	return tasks
}

func (e endpoints) TasksForCorrection(m match.Summary, question int, at int64) []taskqueue.NewTask {
	return []taskqueue.NewTask{{Game: m.Game, Topic: "webhook/" + m.Game, Key: fmt.Sprint(m.Match, "-", question), Payload: fmt.Appendf(nil, `[%d,%d]`, at, len(m.Voided))}}
}

func (e endpoints) TasksForEndedDay(game, day string, at int64) []taskqueue.NewTask {
	return []taskqueue.NewTask{{Game: game, Topic: "seal/" + game, Key: day, Payload: fmt.Appendf(nil, `[%d]`, at)}}
}

// listTasks returns topic, key and payload of all tasks, by topic and position.
func listTasks(t *testing.T, l *Ledger) (all []string) {
	t.Helper()
	var tasks []taskqueue.Task
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		tasks, cursor = append(tasks, page...), next
	}
	for _, task := range sortTasks(tasks) {
		payload := testenv.Need(l.Tasks.Task(t.Context(), task.ID))(t).Payload
		all = append(all, fmt.Sprintf("%s %s %s", strings.ReplaceAll(task.Topic, game, "G"), task.Key, payload))
	}
	return all
}

func wantTasks(t *testing.T, l *Ledger, want ...string) {
	t.Helper()
	if got := listTasks(t, l); !slices.Equal(got, want) {
		t.Errorf("tasks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Each new result makes a task for each endpoint, in the order of the ledger. Known
// results make no more tasks.
func TestNewResultsMakeTasks(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.entries.events, l.Results.pairDuelLimits = endpoints{"a", "b"}, map[string]int64{game: 1}
		l.setClock(t, 7)
		uncounted, other := duel("m2", 2, "p1", "p3"), duel("m1", 3, "p1")
		uncounted.CountsForLeaderboards, other.Game = false, "another.game"
		for range 2 {
			testenv.Need(l.Results.Commit(t.Context(), results(
				duel("m3", 1, "p1", "p2"), uncounted, other, duel("m3", 1, "p1", "p2"), duel("m0", 4, "p2", "p1"))))(t)
			l.setClock(t, 8)
		}
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m3", 1, "p1", "p2"), duel("m4", 1, "p4"))))(t)
		wantTasks(t, l.Ledger,
			"webhook/another.game/a m1 [7,true]", "webhook/another.game/b m1 [7,true]",
			"webhook/G/a m3 [7,true]", "webhook/G/a m2 [7,false]", "webhook/G/a m0 [7,false]", "webhook/G/a m4 [8,true]",
			"webhook/G/b m3 [7,true]", "webhook/G/b m2 [7,false]", "webhook/G/b m0 [7,false]", "webhook/G/b m4 [8,true]")
	})
}

// Each question that becomes void makes a task, once. A refused one makes none.
func TestVoidQuestionsMakeTasks(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openRaceLedger(t, db)
		playRace(t, "m1", 5, names("p", 4), 6).commit(t, l.Ledger)
		l.entries.events = endpoints{"a"}
		for i, question := range []int{3, 3, 1, 9} {
			l.setClock(t, int64(10+i))
			_, err := l.Corrections.MakeVoid(t.Context(), answers.Void{Game: game, Match: "m1", Question: question})
			if isRefused := question == 9; (err != nil) != isRefused {
				t.Errorf("question %d: %v", question, err)
			}
		}
		wantTasks(t, l.Ledger, "webhook/G m1-3 [10,1]", "webhook/G m1-1 [12,2]")
	})
}

// A day is reported after it has ended, whichever call starts the next day. The report is
// queued before those of later results.
func TestEndedDaysMakeTasks(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		const day = 24 * 3600 * 1000
		l := openWithClock(t, db, time.UTC)
		l.entries.events = endpoints{"a"}
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		wantTasks(t, l.Ledger)
		l.setClock(t, day)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1"))))(t)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 1, "p1"))))(t)
		want := []string{"seal/G 1970-01-01 [86400000]", "webhook/G/a m1 [86400000,true]", "webhook/G/a m2 [86400000,true]"}
		wantTasks(t, l.Ledger, want...)
		l.setClock(t, 4*day)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		l.setClock(t, 3*day)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		want = slices.Insert(want, 1, "seal/G 1970-01-02 [345600000]", "seal/G 1970-01-03 [345600000]", "seal/G 1970-01-04 [345600000]")
		wantTasks(t, l.Ledger, want...)
		l.setClock(t, 5*day)
		for _, match := range []string{"m1", "m1", "m2"} { // the second call has nothing to correct
			testenv.Need(l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: match, Reason: "bots", By: "op"}))(t)
		}
		want = slices.Insert(want, 4, "seal/G 1970-01-05 [432000000]")
		wantTasks(t, l.Ledger, want...)
		l.setClock(t, 6*day)
		testenv.Need(l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: "m1", Reason: "bots", By: "op"}))(t)
		wantTasks(t, l.Ledger, want...) // it has written nothing, also no start of a day
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		wantTasks(t, l.Ledger, slices.Insert(want, 5, "seal/G 1970-01-06 [518400000]")...)
	})
}

// If a transaction fails anywhere, neither the result nor its tasks exist, and no topic
// is notified. After that the same result is new.
func TestFailedTransactionsMakeNoTasks(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		rung := 0
		l := openConfig(t, Config{URL: db.URL, Dir: db.Dir, Events: endpoints{"a"}, NotifyTopic: func(string) { rung++ }})
		r := duel("m1", 1, "p1", "p2")
		r.Teams = []match.TeamResult{{Rank: 1, ID: "t1", Name: "Team", Score: 1}}
		r.Standings[0].Team = "t1"
		rename := func(from, to string) { testenv.Need(l.exec(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to))(t) }
		for _, table := range []string{"matches", "ledger_heads", "entries", "days", "teams", "seats", "players", "queues", "tasks"} {
			rename(table, "away")
			if _, err := l.Results.Commit(t.Context(), results(r)); err == nil {
				t.Errorf("committed without %s", table)
			}
			rename("away", table)
			wantTasks(t, l)
		}
		ctx, cancel := context.WithCancel(t.Context())
		l.entries.events = cancelingEvents{endpoints{"a"}, cancel}
		if _, err := l.Results.Commit(ctx, results(r)); !IsUnavailable(err) {
			t.Errorf("cut off in the transaction: %v", err)
		}
		wantTasks(t, l)
		if rung > 0 {
			t.Errorf("notified %d times for a rolled back transaction", rung)
		}
		if done := testenv.Need(l.Results.Commit(t.Context(), results(r)))(t); !done[0].IsNew || readEntries(t, l, r).first != 2 || len(listTasks(t, l)) != 1 || rung != 1 {
			t.Errorf("afterwards %+v, notified %d times", done, rung)
		}
	})
}

// cancelingEvents cancels the caller's context in the middle of the transaction.
type cancelingEvents struct {
	endpoints
	now func()
}

func (c cancelingEvents) TasksForResult(r *match.Result, at int64) []taskqueue.NewTask {
	defer c.now()
	return c.endpoints.TasksForResult(r, at)
}

// A notified worker finds the task, because the transaction has ended. A queue that
// already has a ready task is not notified.
func TestATopicIsNotifiedAfterTheTaskExists(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		var l *Ledger
		var rung []string
		wake := func(topic string) {
			tasks, _, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{Topic: topic}, "", 10)
			rung = append(rung, fmt.Sprintln(topic, len(tasks), err))
		}
		l = openConfig(t, Config{URL: db.URL, Dir: db.Dir, Events: endpoints{"a", "b"}, NotifyTopic: wake})
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1"))))(t)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 1, "p1"))))(t)
		want := []string{"webhook/" + game + "/a 1 <nil>\n", "webhook/" + game + "/b 1 <nil>\n"}
		if !slices.Equal(rung, want) {
			t.Errorf("notified topics %q, want %q", rung, want)
		}
	})
}

// A task that the queue can never accept is dropped and counted. It blocks neither the
// result nor other tasks.
func TestAnInvalidEventTaskIsDroppedAndCounted(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openConfig(t, Config{URL: db.URL, Dir: db.Dir, Events: badTaskEvents{endpoints{"a"}}, Registry: prometheus.NewRegistry()})
		for _, id := range []string{"m1", "m2"} {
			if done := testenv.Need(l.Results.Commit(t.Context(), results(duel(id, 1, "p1"))))(t); !done[0].IsNew {
				t.Error("the result is missing")
			}
		}
		if got := listTasks(t, l); len(got) != 2 {
			t.Errorf("tasks for %q", got)
		}
		if n := testutil.ToFloat64(l.entries.droppedEvents.WithLabelValues(game)); n != 2*float64(len(invalidChanges)) {
			t.Errorf("counted %v", n)
		}
	})
}

var invalidChanges = []func(*taskqueue.NewTask){
	func(n *taskqueue.NewTask) { n.Topic = "web hook" },
	func(n *taskqueue.NewTask) { n.Topic = "\xff\x00" },
	func(n *taskqueue.NewTask) { n.Key = strings.Repeat("k", taskqueue.MaxNameBytes+1) },
	func(n *taskqueue.NewTask) { n.Payload = []byte("{") },
	func(n *taskqueue.NewTask) { n.Payload = []byte("\"\xff\"") },
	func(n *taskqueue.NewTask) {
		n.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", taskqueue.MaxPayloadBytes))
	},
	func(n *taskqueue.NewTask) { n.Payload = nil },
	func(n *taskqueue.NewTask) { n.Priority = -1 },
}

// badTaskEvents adds invalid tasks.
type badTaskEvents struct{ endpoints }

func (s badTaskEvents) TasksForResult(r *match.Result, at int64) (tasks []taskqueue.NewTask) {
	for _, spoil := range invalidChanges {
		n := s.endpoints.TasksForResult(r, at)[0]
		spoil(&n)
		tasks = append(tasks, n)
	}
	return append(tasks, s.endpoints.TasksForResult(r, at)...)
}

const eventTestDir = "LASTSTAND_LEDGER_TELL_DIR"

// TestNotifyUntilKilled is the process that TestAKilledProcessReportsEachEvent kills.
// When it is run directly, it does nothing.
func TestNotifyUntilKilled(t *testing.T) {
	dir := os.Getenv(eventTestDir)
	if dir == "" {
		return
	}
	l := openConfig(t, Config{Dir: dir, Events: endpoints{"a", "b"}})
	for i := 0; ; i++ {
		id := fmt.Sprint("m", i)
		testenv.Need(l.Results.Commit(t.Context(), results(duel(id, int64(i), "p1", "p2"))))(t)
		fmt.Println("committed", id)
	}
}

// A process is killed while it commits. Then each event in the ledger has its tasks, and
// there are no other tasks.
func TestAKilledProcessReportsEachEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killAfterLines(t, "TestNotifyUntilKilled", eventTestDir+"="+dir, 30)
	l := openConfig(t, Config{Dir: dir})
	rows := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 0, 100_000))(t)
	keys := listTasks(t, l)
	if matches := len(rows) / 2; matches < 30 || len(keys) != 2*matches {
		t.Errorf("%d matches, %d tasks", matches, len(keys))
	}
	for i := range len(keys) / 2 {
		if want := fmt.Sprintf("webhook/G/a m%d ", i); !strings.HasPrefix(keys[i], want) {
			t.Errorf("tasks for %q, want %q", keys[i], want)
		}
	}
}
