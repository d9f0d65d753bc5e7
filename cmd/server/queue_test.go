package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/ops"
	"laststand/internal/testenv"
)

// queueNow is the cluster time in tests, in epoch ms.
const queueNow = int64(1795212345678)

// fakeQueueAdmin has queues that a test fills. It implements eventq.Admin.
type fakeQueueAdmin struct {
	mu    sync.Mutex
	games map[string]*eventq.Status
	items []eventq.Item
}

func (s *fakeQueueAdmin) Status(_ context.Context, games []string, _ int64) ([]eventq.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]eventq.Status, len(games))
	for i, name := range games {
		all[i] = eventq.Status{Game: name}
		if q := s.games[name]; q != nil {
			all[i] = *q
		}
	}
	return all, nil
}

func (s *fakeQueueAdmin) Peek(_ context.Context, _ string, limit int) ([]eventq.Item, error) {
	return s.items[:min(limit, len(s.items))], nil
}

// change changes the queue of a game.
func (s *fakeQueueAdmin) change(game string, update func(*eventq.Status)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	update(s.games[game])
	return nil
}

func (s *fakeQueueAdmin) Pause(_ context.Context, game, reason string) error {
	return s.change(game, func(q *eventq.Status) { q.Paused = reason })
}

func (s *fakeQueueAdmin) Resume(_ context.Context, game string, _ int64) error {
	return s.change(game, func(q *eventq.Status) { q.Paused = "" })
}

func (s *fakeQueueAdmin) SetMaxLen(_ context.Context, game string, maxLen int) error {
	return s.change(game, func(q *eventq.Status) { q.MaxLen = maxLen })
}

func (s *fakeQueueAdmin) Discard(_ context.Context, game string, r eventq.Reason) (dropped int64, err error) {
	err = s.change(game, func(q *eventq.Status) {
		dropped, q.Counts.Queued = q.Counts.Queued, 0
		q.Counts.Dropped = map[eventq.Reason]int64{r: dropped}
	})
	return dropped, err
}

// drain sends everything that is not in flight. If behaviours are in flight, the receiver then
// answers 410, which pauses the queue.
func (s *fakeQueueAdmin) drain(_ context.Context, game string) error {
	return s.change(game, func(q *eventq.Status) {
		q.Counts.Sent, q.Counts.Queued = q.Counts.Sent+q.Counts.Queued, 0
		if q.Counts.InFlight > 0 {
			q.Paused = "410"
		}
	})
}

func (s *fakeQueueAdmin) FlushNow(context.Context, string, int64) error {
	return errors.New("not used by the commands")
}

// serveFlags starts an admin API with the fake queues, and returns the flags for commands that call it.
func (s *fakeQueueAdmin) serveFlags(t *testing.T, games ...string) []string {
	t.Helper()
	server := httptest.NewServer(ops.New(ops.Config{
		Gatherer: prometheus.NewRegistry(), Audit: discardAudit{}, Games: games, Queues: s, SendQueued: s.drain, Logger: discardLog(), Health: http.NotFoundHandler(),
		VerifyAdmin: func(context.Context, string) (string, error) { return "ops", nil },
		Now:         func() int64 { return queueNow }, IsStoreDown: func(error) bool { return false },
	}))
	t.Cleanup(server.Close)
	return []string{"--data=" + folderWithDatabase(t), "--ops-listen=" + server.Listener.Addr().String()}
}

// auditLog makes the embedded field of discardAudit unexported.
type auditLog = ops.Audit

// discardAudit is an audit log that stores nothing.
type discardAudit struct{ auditLog }

func (discardAudit) BeginAudit(context.Context, identity.AuditEntry) error { return nil }

func (discardAudit) EndAudit(context.Context, string, int) error { return nil }

func TestQueueCommandsChangeTheQueue(t *testing.T) {
	t.Parallel()
	admin := &fakeQueueAdmin{games: map[string]*eventq.Status{
		"demo": {
			Game: "demo", MaxLen: 500, OldestAt: queueNow - 12_345, DueAt: queueNow + 50, CoolUntil: queueNow + 59_000,
			Error: "connection refused", ErrorAt: queueNow - 61_000,
			Counts: eventq.Counts{Offered: 100, Sent: 40, Dropped: map[eventq.Reason]int64{eventq.TooOld: 3, eventq.QueueFull: 2}, Queued: 45, InFlight: 10},
		},
		"held": {Game: "held", Counts: eventq.Counts{Offered: 7, Queued: 7}, OldestAt: queueNow - 5, DueAt: queueNow - 1},
	}}
	admin.items = []eventq.Item{{QueuedAt: 1, Unique: true, Body: []byte(`{"id":"a"}`)}, {QueuedAt: 2, Body: []byte(`{"id":"b"}`)}}
	flags := admin.serveFlags(t, "demo", "held", "idle")
	run := func(wantCode int, wantOutput string, args ...string) {
		t.Helper()
		code, out, stderr := command(append(args, flags...)...)
		if text := strings.Join(strings.Fields(out+stderr), " "); code != wantCode || !strings.Contains(text, wantOutput) {
			t.Errorf("%v ended with %d and printed\n%s%s\nwant %d and %q", args, code, out, stderr, wantCode, wantOutput)
		}
	}
	const header = "GAME QUEUED IN FLIGHT OLDEST NEXT BATCH SENT DROPPED PAUSED LAST ERROR "
	const demoRow = "demo 45 of 500 10 12.3s in 59s 40 5 (queue_full 2, too_old 3) - 1m1s ago: connection refused"
	run(0, header+demoRow+" held 7 0 5ms now 0 0 - - idle 0 0 - - 0 0 - -", "queue", "list")
	run(0, header+demoRow, "queue", "list", "--game=demo")
	run(1, "there are: demo, held, idle", "queue", "list", "--game=nope")
	run(0, `{"queued_at":1,"behaviour":{"id":"a"}} {"queued_at":2,"behaviour":{"id":"b"}}`, "queue", "peek", "--game=demo")
	run(0, `{"id":"a"}}`, "queue", "peek", "--game=demo", "--limit=1")
	run(1, "1 to 200", "queue", "peek", "--game=demo", "--limit=201")

	run(0, "now 0 0 maintenance -", "queue", "pause", "--game=held", "--reason=maintenance")
	run(1, "paused (maintenance)", "queue", "drain", "--game=held")
	run(0, header+"held 7 0", "queue", "resume", "--game=held")
	run(0, "held 7 of 9 0", "queue", "set-max-len", "--game=held", "9")
	run(0, "held 7 0", "queue", "set-max-len", "--game=held", "0")
	run(1, "use 1 to 10000000", "queue", "set-max-len", "--game=held", "10000001")
	run(0, "held: the queue is empty", "queue", "drain", "--game=held")
	run(0, "demo: 45 behaviours discarded", "queue", "drain", "--game=demo", "--discard")
	run(1, "demo: 10 behaviours are left (10 in flight)", "queue", "drain", "--game=demo")
}

// A list of more queues than one page is complete.
func TestManyQueuesAreListed(t *testing.T) {
	t.Parallel()
	var games []string
	for i := range 401 {
		games = append(games, fmt.Sprintf("game%03d", i))
	}
	code, out, stderr := command(append([]string{"queue", "list"}, new(fakeQueueAdmin).serveFlags(t, games...)...)...)
	if n := strings.Count(out, "\n"); code != 0 || n != 402 {
		t.Errorf("ended with %d and %d lines: %s", code, n, stderr)
	}
}

// The command prints the key for the receiver, unless the operator configured the key.
func TestGeneratedSinkKeysArePrinted(t *testing.T) {
	t.Parallel()
	data := "--data=" + folderWithDatabase(t)
	path := configFile(t, testenv.ConfigWithKeys+"  made: {behaviours: {sink: {type: webhook, url: 'https://x.example'}}}\n  plain:\n")
	testenv.WriteBeside(t, path, "hook.key", testenv.OldWebhookKey)
	testenv.WriteBeside(t, path, "nppa.key", testenv.NPPAKey)
	show := func(game string) (code int, out, stderr string) {
		return command("queue", "show-key", "--game="+game, data, "--config="+path)
	}
	code, key, stderr := show("made")
	if code != 0 || !isWebhookKey(key) {
		t.Errorf("ended with %d: %s%s", code, key, stderr)
	}
	if _, again, _ := show("made"); again != key {
		t.Errorf("printed %q and then %q", key, again)
	}
	for game, want := range map[string]string{"hook": "hook.key", "nppa": "type nppa", "plain": "type file", "nope": `game "nope" is not in`} {
		if code, out, stderr := show(game); code != 1 || out != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: ended with %d, printed %q and the error %q", game, code, out, stderr)
		}
	}
}
