package ops

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"laststand/internal/answers"
	"laststand/internal/leaderboard"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errDown   = errors.New("dial tcp: refused")
	errDefect = errors.New("a defect")
)

// fakeBackend implements the interfaces of Config. If fail is set, each call returns it.
type fakeBackend struct {
	fail               error
	changeErr          error // error of changing a task that another operator has handled
	tasks              map[string]taskqueue.Task
	filter             taskqueue.Filter // filter of the last call of Tasks
	queueFilter        taskqueue.QueueFilter
	differences        []leaderboard.Difference
	verifyErr          error // error of a verification after it has reported the differences
	correction         Correction
	void               answers.Void
	rebuiltOrConfirmed string // game of the last rebuild, or game and day of the last ConfirmDay
	queues             map[string]*fakeQueue
	auditLog           *fakeAuditLog
}

func (backend *fakeBackend) ConfirmDay(_ context.Context, game, day string) error {
	backend.rebuiltOrConfirmed = game + " " + day
	return backend.fail
}

// fakeHealth returns the path of the request.
func fakeHealth(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }

func newFakeBackend() *fakeBackend {
	return &fakeBackend{queues: newQueues(), auditLog: new(fakeAuditLog), tasks: map[string]taskqueue.Task{
		"t1": {ID: "t1", Game: "demo", Topic: taskqueue.SettleTopic, Key: "m1", State: taskqueue.StateDead, Tries: 10, Payload: json.RawMessage(`{"match":"m1"}`),
			Errors: []taskqueue.AttemptError{{At: 7, Error: "why"}}},
		"t2": {ID: "t2", Game: "demo", Topic: taskqueue.SettleTopic, Key: "m2", State: taskqueue.StateDone, Payload: json.RawMessage(`{}`)},
	}}
}

func (backend *fakeBackend) handler() http.Handler { return New(backend.config()) }

func (backend *fakeBackend) config() Config {
	return Config{
		Gatherer: prometheus.NewRegistry(), Registry: prometheus.NewRegistry(), Audit: backend.auditLog, Games: []string{"demo"}, Tasks: backend, TaskActions: backend, Leaderboards: backend, Corrections: backend, Days: backend,
		Queues: fakeQueues{backend}, SendQueued: backend.sendQueued, Webhooks: newFakeWebhooks(backend), Revocations: newFakeRevocations(backend), Players: newFakeRevocations(backend), Keys: newFakeRevocations(backend), Health: http.HandlerFunc(fakeHealth), Now: func() int64 { return testTime },
		VerifyAdmin: func(_ context.Context, token string) (string, error) {
			switch token {
			case "admin":
				return "ops", nil
			case "unknowable":
				return "", errDown
			}
			return "", errors.New("no admin")
		},
		IsStoreDown: func(err error) bool { return errors.Is(err, errDown) },
		Logger:      slog.New(slog.DiscardHandler),
	}
}

func (backend *fakeBackend) Task(_ context.Context, id string) (taskqueue.Task, error) {
	t, ok := backend.tasks[id]
	if !ok {
		return t, taskqueue.ErrNotFound
	}
	return t, backend.fail
}

func (backend *fakeBackend) Tasks(_ context.Context, f taskqueue.Filter, cursor string, limit int) ([]taskqueue.Task, string, error) {
	backend.filter = f
	switch {
	case cursor == "bad":
		return nil, "", taskqueue.ErrBadCursor
	case cursor != "" || backend.fail != nil:
		return nil, "", backend.fail
	case limit == 1 || f.State == taskqueue.StateDead:
		return []taskqueue.Task{backend.tasks["t1"]}, "next", nil
	}
	return []taskqueue.Task{backend.tasks["t2"], backend.tasks["t1"]}, "", nil
}

func (backend *fakeBackend) Queues(_ context.Context, f taskqueue.QueueFilter, cursor string, limit int) ([]taskqueue.Queue, string, error) {
	backend.queueFilter = f
	switch {
	case cursor == "bad":
		return nil, "", taskqueue.ErrBadCursor
	case cursor != "" || backend.fail != nil:
		return nil, "", backend.fail
	}
	return []taskqueue.Queue{{QueueID: taskqueue.QueueID{Topic: "work/a", Priority: 3}, Pos: 9, Scan: 7, Done: 5, Head: "t1", VirtualTime: 1}}, strconv.Itoa(limit), nil
}

// changeTask changes a task as the store does.
func (backend *fakeBackend) changeTask(id string, change func(*taskqueue.Task) error) (taskqueue.Task, error) {
	t, err := backend.Task(context.Background(), id)
	if backend.changeErr != nil {
		err = backend.changeErr
	}
	if err == nil {
		err = change(&t)
	}
	if err == nil {
		backend.tasks[id] = t
	}
	return t, err
}

func (backend *fakeBackend) Requeue(_ context.Context, id string) (taskqueue.Task, error) {
	return backend.changeTask(id, func(t *taskqueue.Task) error { t.Finish(t.Payload); return nil })
}

func (backend *fakeBackend) Edit(_ context.Context, id string, payload json.RawMessage) (taskqueue.Task, error) {
	return backend.changeTask(id, func(t *taskqueue.Task) error {
		if !json.Valid(payload) {
			return settle.ErrBadPayload
		}
		return t.Edit(payload)
	})
}

func (backend *fakeBackend) Discard(_ context.Context, id string) (taskqueue.Task, error) {
	return backend.changeTask(id, (*taskqueue.Task).Discard)
}

func (backend *fakeBackend) Verify(_ context.Context, _ string, report func(leaderboard.Difference)) (leaderboard.VerifyResult, error) {
	if backend.fail != nil {
		return leaderboard.VerifyResult{}, backend.fail
	}
	for _, d := range backend.differences {
		report(d)
	}
	return leaderboard.VerifyResult{Boards: 3, Entries: 40, Differences: int64(len(backend.differences)), Pos: 99}, backend.verifyErr
}

func (backend *fakeBackend) Rebuild(_ context.Context, game string) error {
	backend.rebuiltOrConfirmed = game
	return backend.fail
}

func (backend *fakeBackend) IsBuilding(_ context.Context, game string) (bool, error) {
	return backend.rebuiltOrConfirmed == game, backend.fail
}

func (backend *fakeBackend) Correct(_ context.Context, c Correction) (int, error) {
	backend.correction = c
	return 2, backend.fail
}

func (backend *fakeBackend) MakeVoid(_ context.Context, v answers.Void) (bool, error) {
	isNew := backend.void != v
	backend.void = v
	return isNew, backend.fail
}

// adminRequest sends a request of an admin, with a JSON body unless it is "".
func adminRequest(t *testing.T, handler http.Handler, method, path, body string) (status int, header http.Header, text string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer admin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Header(), strings.TrimSpace(string(answer))
}
