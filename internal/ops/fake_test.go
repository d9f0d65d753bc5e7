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
type world struct {
	fail    error
	quicker error // error of changing a task that another operator has handled
	tasks   map[string]taskqueue.Task
	filter  taskqueue.Filter // of the last list
	lines   taskqueue.QueueFilter
	found   []leaderboard.Difference
	late    error // error of a verification after it has reported the differences
	asked   Correction
	built   string
	queues  map[string]*fakeQueue
	book    *auditBook
}

func (w *world) ConfirmDay(_ context.Context, game, day string) error {
	w.built = game + " " + day
	return w.fail
}

func newWorld() *world {
	return &world{queues: newQueues(), book: new(auditBook), tasks: map[string]taskqueue.Task{
		"t1": {ID: "t1", Game: "demo", Topic: taskqueue.Settle, Key: "m1", State: taskqueue.Dead, Tries: 10, Payload: json.RawMessage(`{"match":"m1"}`),
			Errors: []taskqueue.Failure{{At: 7, Error: "why"}}},
		"t2": {ID: "t2", Game: "demo", Topic: taskqueue.Settle, Key: "m2", State: taskqueue.Done, Payload: json.RawMessage(`{}`)},
	}}
}

func (w *world) handler() http.Handler { return New(w.config()) }

func (w *world) config() Config {
	return Config{
		Gatherer: prometheus.NewRegistry(), Registry: prometheus.NewRegistry(), Audit: w.book, Games: []string{"demo"}, Tasks: w, Desk: w, Leaderboards: w, Corrections: w, Days: w,
		Queues: desk{w}, Drain: w.drain, Hooks: newEndpoint(w), Revocations: newRegistrar(w), Players: newRegistrar(w), Keys: newRegistrar(w), Now: func() int64 { return clock },
		Admin: func(_ context.Context, token string) (string, error) {
			switch token {
			case "admin":
				return "ops", nil
			case "unknowable":
				return "", errDown
			}
			return "", errors.New("no admin")
		},
		Down:   func(err error) bool { return errors.Is(err, errDown) },
		Logger: slog.New(slog.DiscardHandler),
	}
}

func (w *world) Task(_ context.Context, id string) (taskqueue.Task, error) {
	t, ok := w.tasks[id]
	if !ok {
		return t, taskqueue.ErrNotFound
	}
	return t, w.fail
}

func (w *world) Tasks(_ context.Context, f taskqueue.Filter, cursor string, limit int) ([]taskqueue.Task, string, error) {
	w.filter = f
	switch {
	case cursor == "bad":
		return nil, "", taskqueue.ErrBadCursor
	case cursor != "" || w.fail != nil:
		return nil, "", w.fail
	case limit == 1 || f.State == taskqueue.Dead:
		return []taskqueue.Task{w.tasks["t1"]}, "next", nil
	}
	return []taskqueue.Task{w.tasks["t2"], w.tasks["t1"]}, "", nil
}

func (w *world) Lines(_ context.Context, f taskqueue.QueueFilter, cursor string, limit int) ([]taskqueue.Queue, string, error) {
	w.lines = f
	switch {
	case cursor == "bad":
		return nil, "", taskqueue.ErrBadCursor
	case cursor != "" || w.fail != nil:
		return nil, "", w.fail
	}
	return []taskqueue.Queue{{QueueID: taskqueue.QueueID{Topic: "work/a", Priority: 3}, Pos: 9, Scan: 7, Done: 5, Head: "t1", VTime: 1}}, strconv.Itoa(limit), nil
}

// change changes a task as the store does.
func (w *world) change(id string, f func(*taskqueue.Task) error) (taskqueue.Task, error) {
	t, err := w.Task(context.Background(), id)
	if w.quicker != nil {
		err = w.quicker
	}
	if err == nil {
		err = f(&t)
	}
	if err == nil {
		w.tasks[id] = t
	}
	return t, err
}

func (w *world) Requeue(_ context.Context, id string) (taskqueue.Task, error) {
	return w.change(id, func(t *taskqueue.Task) error { t.Finish(t.Payload); return nil })
}

func (w *world) Edit(_ context.Context, id string, payload json.RawMessage) (taskqueue.Task, error) {
	return w.change(id, func(t *taskqueue.Task) error {
		if !json.Valid(payload) {
			return settle.ErrBadPayload
		}
		return t.Edit(payload)
	})
}

func (w *world) Discard(_ context.Context, id string) (taskqueue.Task, error) {
	return w.change(id, (*taskqueue.Task).Discard)
}

func (w *world) Verify(_ context.Context, _ string, report func(leaderboard.Difference)) (leaderboard.VerifyResult, error) {
	if w.fail != nil {
		return leaderboard.VerifyResult{}, w.fail
	}
	for _, d := range w.found {
		report(d)
	}
	return leaderboard.VerifyResult{Boards: 3, Entries: 40, Differences: int64(len(w.found)), Pos: 99}, w.late
}

func (w *world) Rebuild(_ context.Context, game string) error {
	w.built = game
	return w.fail
}

func (w *world) IsBuilding(_ context.Context, game string) (bool, error) {
	return w.built == game, w.fail
}

func (w *world) Correct(_ context.Context, c Correction) (int, error) {
	w.asked = c
	return 2, w.fail
}

// ask sends a request of an admin, with a JSON body unless it is "".
func ask(t *testing.T, h http.Handler, method, path, body string) (status int, header http.Header, text string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer admin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Header(), strings.TrimSpace(string(answer))
}
