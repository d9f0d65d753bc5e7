package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"laststand/internal/answers"
	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

func TestTasksAreListed(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	for query, want := range map[string]struct {
		filter taskqueue.Filter
		answer string
	}{
		"?state=dead&game=demo&limit=1": {taskqueue.Filter{State: taskqueue.StateDead, Game: "demo"}, `"next_cursor":"next"`},
		"?topic=settle&key=m1&cursor=x": {taskqueue.Filter{Topic: "settle", Key: "m1"}, `{"tasks":[]}`},
		"":                              {taskqueue.Filter{}, `"errors":[{"at":7,"error":"why"}]`},
	} {
		status, _, body := adminRequest(t, backend.handler(), "GET", "/admin/v1/tasks"+query, "")
		if status != http.StatusOK || backend.filter != want.filter || !strings.Contains(body, want.answer) {
			t.Errorf("%s: %d %s, the store was asked for %+v", query, status, body, backend.filter)
		}
	}
}

func TestATaskIsReadEditedDiscardedAndRequeued(t *testing.T) {
	t.Parallel()
	handler := newFakeBackend().handler()
	for _, step := range []struct {
		method, path, body string
		want               taskqueue.Task
	}{
		{"GET", "", "", taskqueue.Task{State: taskqueue.StateDead, Tries: 10, Payload: []byte(`{"match":"m1"}`)}},
		{"PUT", "/payload", `{"match":"m1","mended":true}`, taskqueue.Task{State: taskqueue.StateDead, Tries: 10, Payload: []byte(`{"match":"m1","mended":true}`)}},
		{"POST", "/discard", "", taskqueue.Task{State: taskqueue.StateDiscarded, Tries: 10, Payload: []byte(`{"match":"m1","mended":true}`)}},
		{"POST", "/requeue", "", taskqueue.Task{State: taskqueue.StateDone, Tries: 11, Payload: []byte(`{"match":"m1","mended":true}`)}},
	} {
		status, _, body := adminRequest(t, handler, step.method, "/admin/v1/tasks/t1"+step.path, step.body)
		var got taskqueue.Task
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %v: %s", step.path, status, err, body)
		}
		if got.State != step.want.State || got.Tries != step.want.Tries || string(got.Payload) != string(step.want.Payload) || got.ID != "t1" {
			t.Errorf("%s %s: %+v", step.method, step.path, got)
		}
	}
}

func TestAPageOfDeadTasksIsChanged(t *testing.T) {
	t.Parallel()
	for action, want := range map[string]taskqueue.State{"requeue": taskqueue.StateDone, "discard": taskqueue.StateDiscarded} {
		backend := newFakeBackend()
		page := backend.changeDead(t, action)
		if len(page.Tasks) != 1 || page.Tasks[0].State != want || page.Tasks[0].Payload != nil || page.NextCursor != "next" {
			t.Errorf("%s: %+v", action, page)
		}
		if want := (taskqueue.Filter{Game: "demo", Topic: "settle", State: taskqueue.StateDead, OldestFirst: true}); backend.filter != want {
			t.Errorf("the store was asked for %+v", backend.filter)
		}
	}
}

// A bulk action leaves out tasks that another operator has already handled.
func TestTasksThatAnotherOperatorHandledAreSkipped(t *testing.T) {
	t.Parallel()
	for _, changeErr := range []error{taskqueue.ErrDone, taskqueue.ErrNotFound} {
		backend := newFakeBackend()
		backend.changeErr = changeErr
		if page := backend.changeDead(t, "discard"); len(page.Tasks) != 0 || page.NextCursor != "next" {
			t.Errorf("%v: %+v", changeErr, page)
		}
	}
}

func (backend *fakeBackend) changeDead(t *testing.T, action string) (page struct {
	Tasks      []taskqueue.Task
	NextCursor string `json:"next_cursor"`
}) {
	t.Helper()
	status, _, body := adminRequest(t, backend.handler(), "POST", "/admin/v1/tasks/"+action, `{"game":"demo","topic":"settle"}`)
	if err := json.Unmarshal([]byte(body), &page); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	return page
}

func TestTaskQueuesAreListed(t *testing.T) {
	t.Parallel()
	const line = `{"topic":"work/a","priority":3,"last_position":9,"claimed_position":7,"finished_position":5,"blocked_by":"t1"}`
	backend := newFakeBackend()
	for query, want := range map[string]struct {
		filter taskqueue.QueueFilter
		answer string
	}{
		"":                             {taskqueue.QueueFilter{}, `{"task_queues":[` + line + `],"next_cursor":"50"}`},
		"?kind=work&busy=true&limit=7": {taskqueue.QueueFilter{Kind: "work", Busy: true}, `{"task_queues":[` + line + `],"next_cursor":"7"}`},
		"?topic=work/a&busy=false":     {taskqueue.QueueFilter{Topic: "work/a"}, `{"task_queues":[` + line + `],"next_cursor":"50"}`},
		"?cursor=x":                    {taskqueue.QueueFilter{}, `{"task_queues":[]}`},
	} {
		status, _, body := adminRequest(t, backend.handler(), "GET", "/admin/v1/task-queues"+query, "")
		if status != http.StatusOK || backend.queueFilter != want.filter || body != want.answer {
			t.Errorf("%s: %d %s, the store was asked for %+v", query, status, body, backend.queueFilter)
		}
	}
}

func TestVerificationListsDifferences(t *testing.T) {
	t.Parallel()
	difference := leaderboard.Difference{Board: leaderboard.Board{Kind: leaderboard.Players, Span: "all"}, Holder: "p_1", Field: "score", Want: "5", Have: "4"}
	const line = `{"kind":"player","window":"all","id":"p_1","field":"score","ledger":"5","leaderboard":"4"}`
	for name, tt := range map[string]struct {
		prepare func(*fakeBackend)
		want    string
	}{
		"equal": {func(*fakeBackend) {}, `{"verified":{"leaderboards":3,"entries":40,"differences":0,"position":99}}`},
		"two differences": {func(backend *fakeBackend) { backend.differences = []leaderboard.Difference{difference, difference} },
			line + "\n" + line + "\n" + `{"verified":{"leaderboards":3,"entries":40,"differences":2,"position":99}}`},
		"ended early": {func(backend *fakeBackend) {
			backend.differences, backend.verifyErr = []leaderboard.Difference{difference}, errDown
		},
			line + "\n" + `{"error":{"type":"about:blank","title":"Service Unavailable","status":503,` +
				`"detail":"a store is out of reach; retry in a few seconds: dial tcp: refused","code":"unavailable"}}`},
	} {
		backend := newFakeBackend()
		tt.prepare(backend)
		status, header, body := adminRequest(t, backend.handler(), "GET", "/admin/v1/games/demo/leaderboards/verify", "")
		if status != http.StatusOK || header.Get("Content-Type") != "application/x-ndjson" || body != tt.want {
			t.Errorf("%s: %d %s\n%s\nwant\n%s", name, status, header, body, tt.want)
		}
	}
}

// slowVerification is a fake Leaderboards. Its verification lasts until the test has read
// the first line, and longer than the time limit of a request.
type slowVerification struct {
	*fakeBackend
	firstLineRead chan struct{}
}

func (v slowVerification) Verify(ctx context.Context, _ string, report func(leaderboard.Difference)) (leaderboard.VerifyResult, error) {
	report(leaderboard.Difference{Field: "first"})
	select {
	case <-ctx.Done():
	case <-v.firstLineRead:
	}
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond): // twice the server's timeouts
	}
	return leaderboard.VerifyResult{}, ctx.Err()
}

// A difference is sent immediately. A verification may take longer than any other
// request.
func TestAVerificationMayTakeLong(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	verification := slowVerification{backend, make(chan struct{})}
	c := backend.config()
	c.Leaderboards = verification
	server := httptest.NewUnstartedServer(New(c))
	server.Config.ReadTimeout, server.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	server.Start()
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/admin/v1/games/demo/leaderboards/verify", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer admin")
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	type line struct {
		Field    string
		Verified *leaderboard.VerifyResult
	}
	var first, last line
	lines := json.NewDecoder(answer.Body)
	if err := lines.Decode(&first); err != nil || first.Field != "first" {
		t.Fatalf("%+v, %v", first, err)
	}
	close(verification.firstLineRead)
	if err := lines.Decode(&last); err != nil || last.Verified == nil {
		t.Errorf("%+v, %v", last, err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Error(err)
	}
}

func TestARebuildIsStartedAndReported(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	for _, step := range []struct {
		method string
		status int
		body   string
	}{
		{"GET", http.StatusOK, `{"building":false}`}, {"POST", http.StatusAccepted, `{"building":true}`}, {"GET", http.StatusOK, `{"building":true}`},
	} {
		if status, _, body := adminRequest(t, backend.handler(), step.method, "/admin/v1/games/demo/leaderboards/rebuild", ""); status != step.status || body != step.body {
			t.Errorf("%s: %d %s", step.method, status, body)
		}
	}
}

func TestACorrectionCancelsResults(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	status, _, body := adminRequest(t, backend.handler(), "POST", "/admin/v1/games/demo/corrections", `{"match":"m1","player":"p_1","reason":"cheated"}`)
	want := Correction{Game: "demo", Match: "m1", Player: "p_1", Reason: "cheated", By: "ops"}
	if status != http.StatusOK || body != `{"rows":2}` || backend.correction != want {
		t.Errorf("%d %s, the store was asked for %+v", status, body, backend.correction)
	}
}

func TestAQuestionIsMadeVoidOnce(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	for _, want := range []string{`{"new":true}`, `{"new":false}`} {
		status, _, body := adminRequest(t, backend.handler(), "PUT", "/admin/v1/games/demo/matches/m1/voids/3", `{"reason":"two right answers"}`)
		if status != http.StatusOK || body != want {
			t.Errorf("%d %s, want %s", status, body, want)
		}
	}
	if want := (answers.Void{Game: "demo", Match: "m1", Question: 3, Reason: "two right answers", By: "ops"}); backend.void != want {
		t.Errorf("the store was asked for %+v", backend.void)
	}
}

func TestBadRequestsGetAProblem(t *testing.T) {
	t.Parallel()
	const tasks, game = "/admin/v1/tasks", "/admin/v1/games/demo"
	for name, tt := range map[string]struct {
		method, path, body string
		fail               error
		status             int
		code               string
	}{
		"no such path":           {"GET", "/admin/v2", "", nil, 404, "not_found"},
		"no such method":         {"DELETE", tasks + "/t1", "", nil, 404, "not_found"},
		"no such task":           {"GET", tasks + "/t3", "", nil, 404, "not_found"},
		"busy is no truth value": {"GET", "/admin/v1/task-queues?busy=yes", "", nil, 400, "bad_request"},
		"limit of task queues":   {"GET", "/admin/v1/task-queues?limit=201", "", nil, 400, "bad_request"},
		"cursor of task queues":  {"GET", "/admin/v1/task-queues?cursor=bad", "", nil, 400, "bad_request"},
		"task queues while down": {"GET", "/admin/v1/task-queues", "", errDown, 503, "unavailable"},
		"discard without JSON":   {"POST", tasks + "/discard", "", nil, 415, "bad_request"},
		"bad task":               {"PUT", tasks + "/t1/payload", "{}", taskqueue.ErrBadTask, 400, "bad_request"},
		"no such game":           {"POST", "/admin/v1/games/other/leaderboards/rebuild", "", nil, 404, "not_found"},
		"no such match":          {"POST", game + "/corrections", `{"match":"m9","reason":"x"}`, ErrNoResult, 404, "not_found"},
		"unknown parameter":      {"GET", tasks + "?states=dead", "", nil, 400, "bad_request"},
		"empty parameter":        {"GET", tasks + "?game=", "", nil, 400, "bad_request"},
		"unknown state":          {"GET", tasks + "?state=alive", "", nil, 400, "bad_request"},
		"bad limit":              {"GET", tasks + "?limit=0", "", nil, 400, "bad_request"},
		"bad cursor":             {"GET", tasks + "?cursor=bad", "", nil, 400, "bad_request"},
		"bad payload":            {"PUT", tasks + "/t1/payload", "{", nil, 400, "bad_request"},
		"a task that is done":    {"POST", tasks + "/t2/discard", "", nil, 409, "bad_request"},
		"no reason":              {"POST", game + "/corrections", `{"match":"m1","reason":""}`, nil, 400, "bad_request"},
		"void, no match":         {"PUT", game + "/matches/m9/voids/0", `{"reason":"x"}`, match.ErrNotFound, 404, "not_found"},
		"void, no number":        {"PUT", game + "/matches/m1/voids/-1", `{"reason":"x"}`, nil, 400, "bad_request"},
		"void, no reason":        {"PUT", game + "/matches/m1/voids/0", `{}`, nil, 400, "bad_request"},
		"void, no question":      {"PUT", game + "/matches/m1/voids/9", `{"reason":"x"}`, answers.ErrNoQuestion, 400, "bad_request"},
		"void, survival":         {"PUT", game + "/matches/m1/voids/0", `{"reason":"x"}`, answers.ErrNotRecountable, 409, "bad_request"},
		"void, deleted answers":  {"PUT", game + "/matches/m1/voids/0", `{"reason":"x"}`, answers.ErrNotStored, 409, "bad_request"},
		"void, too early":        {"PUT", game + "/matches/m1/voids/0", `{"reason":"x"}`, answers.ErrOnTheWay, 503, "unavailable"},
		"unknown field":          {"POST", game + "/corrections", `{"match":"m1","reason":"x","all":true}`, nil, 400, "bad_request"},
		"no JSON":                {"POST", tasks + "/requeue", "", nil, 415, "bad_request"},
		"too large":              {"PUT", tasks + "/t1/payload", `"` + strings.Repeat("x", maxBody) + `"`, nil, 413, "payload_too_large"},
		"down":                   {"GET", tasks, "", errDown, 503, "unavailable"},
		"not ready":              {"GET", game + "/leaderboards/verify", "", leaderboard.ErrNotReady, 503, "unavailable"},
		"slow":                   {"POST", game + "/leaderboards/rebuild", "", context.DeadlineExceeded, 503, "unavailable"},
		"defect":                 {"GET", game + "/leaderboards/rebuild", "", errDefect, 500, "internal"},
		"queue, unknown game":    {"GET", "/admin/v1/games/other/queue", "", nil, 404, "not_found"},
		"POST to the queues":     {"POST", "/admin/v1/queues", "{}", nil, 404, "not_found"},
		"limit of queues":        {"GET", "/admin/v1/queues?limit=201", "", nil, 400, "bad_request"},
		"cursor of queues":       {"GET", "/admin/v1/queues?cursor=dem", "", nil, 400, "bad_request"},
		"limit of items":         {"GET", game + "/queue/items?limit=0", "", nil, 400, "bad_request"},
		"cursor of items":        {"GET", game + "/queue/items?cursor=x", "", nil, 400, "bad_request"},
		"pause, no reason":       {"POST", game + "/queue/pause", "{}", nil, 400, "bad_request"},
		"an empty reason":        {"POST", game + "/queue/pause", `{"reason":""}`, nil, 400, "bad_request"},
		"a long reason":          {"POST", game + "/queue/pause", `{"reason":"` + strings.Repeat("x", maxReason+1) + `"}`, nil, 400, "bad_request"},
		"pause and no body":      {"POST", game + "/queue/pause", "", nil, 415, "bad_request"},
		"no max_len":             {"PATCH", game + "/queue", "{}", nil, 400, "bad_request"},
		"max_len below 0":        {"PATCH", game + "/queue", `{"max_len":-1}`, nil, 400, "bad_request"},
		"max_len too high":       {"PATCH", game + "/queue", `{"max_len":10000001}`, nil, 400, "bad_request"},
		"max_len, a fraction":    {"PATCH", game + "/queue", `{"max_len":1.5}`, nil, 400, "bad_request"},
		"drain, unknown field":   {"POST", game + "/queue/drain", `{"drop":true}`, nil, 400, "bad_request"},
		"drain while down":       {"POST", game + "/queue/drain", "", errDown, 503, "unavailable"},
		"patch while down":       {"PATCH", game + "/queue", `{"max_len":5}`, errDown, 503, "unavailable"},
		"queues while down":      {"GET", "/admin/v1/queues", "", errDown, 503, "unavailable"},
		"webhooks with a limit":  {"GET", "/admin/v1/webhooks?limit=1", "", nil, 400, "bad_request"},
		"webhooks while down":    {"GET", "/admin/v1/webhooks", "", errDown, 503, "unavailable"},
		"no such webhook":        {"POST", "/admin/v1/games/demo/webhooks/other/enable", "", nil, 404, "not_found"},
		"ping, no such webhook":  {"POST", "/admin/v1/games/demo/webhooks/other/ping", "", nil, 404, "not_found"},
		"disable, no body":       {"POST", webhookPath + "/disable", "{}", nil, 400, "bad_request"},
		"query of a change":      {"POST", webhookPath + "/enable?reason=x", "", nil, 400, "bad_request"},
		"a zero byte in a query": {"GET", tasks + "?key=a%00", "", nil, 400, "bad_request"},
		"a zero byte in a path":  {"GET", tasks + "/t%00", "", nil, 400, "bad_request"},
		"a zero byte in a body":  {"POST", game + "/corrections", `{"match":"m1","reason":"\u0000"}`, nil, 400, "bad_request"},
	} {
		backend := newFakeBackend()
		backend.fail = tt.fail
		status, header, body := adminRequest(t, backend.handler(), tt.method, tt.path, tt.body)
		var p httpserver.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %v: %s", name, err, body)
		}
		if status != tt.status || p.Status != status || string(p.Code) != tt.code || p.Detail == "" {
			t.Errorf("%s: %d %+v", name, status, p)
		}
		if retry := header.Get("Retry-After"); (retry != "") != (status == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q with %d", name, retry, status)
		}
	}
}

func TestOnlyAdminTokensAreAccepted(t *testing.T) {
	t.Parallel()
	handler := newFakeBackend().handler()
	for path, method := range map[string]string{
		"/admin/v1/tasks": "GET", "/admin/v1/task-queues": "GET", "/admin/v1/tasks/discard": "POST", "/admin/v1/games/demo/leaderboards/rebuild": "POST", "/admin/nothing": "GET",
		"/admin/v1/webhooks": "GET", webhookPath + "/ping": "POST",
		"/admin/v1/queues": "GET", demoQueue + "/items": "GET", demoQueue + "/drain": "POST", demoQueue: "PATCH", "/debug/pprof/heap": "GET", "/debug/pprof/": "GET",
	} {
		for headers, want := range map[string]int{"Bearer player": 401, "Basic admin": 401, "": 401, "Bearer admin;Bearer admin": 401, "Bearer unknowable": 503} {
			r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			r.Header["Authorization"] = strings.Split(headers, ";")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != want || (w.Header().Get("WWW-Authenticate") == "Bearer") != (want == 401) {
				t.Errorf("%s with %q: %s", path, headers, fmt.Sprint(w.Code, w.Header()))
			}
		}
	}
}

// Only a NUL character is refused, not a text that spells one.
func TestABodyMayHaveABackslashBeforeU0000(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	status, _, body := adminRequest(t, backend.handler(), "POST", "/admin/v1/games/demo/corrections", `{"match":"m1","reason":"C:\\u0000"}`)
	if status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}
