package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

const (
	tasks  = demo + "/tasks"
	taskID = "01KAGX7M1C9V5W2E8R4T6Y0Z3B"
	mail   = `{"topic":"mail/eu","key":"k","payload":{"n":1}}`
)

// leasesCall is a recorded call about leases.
type leased struct {
	leases []taskqueue.Lease
	lease  time.Duration // 0: the call completes the tasks
}

func (w *fakeBackend) Enqueue(_ context.Context, game string, tasks []taskqueue.NewTask) (accepted []taskqueue.Accepted, err error) {
	if game != "demo" || w.fail != nil {
		return nil, w.fail
	}
	w.taskRequest = tasks
	for i := range tasks {
		accepted = append(accepted, taskqueue.Accepted{ID: fmt.Sprint(taskID, i), State: taskqueue.StateWaiting, New: i == 0})
	}
	return accepted, nil
}

// claimedTask is a task as the queue returns it.
func queued() taskqueue.Task {
	return taskqueue.Task{
		ID: taskID, Game: "demo", Topic: "mail/eu", Key: "k", Priority: 3, State: taskqueue.StateClaimed, Pos: 7, Fence: 4,
		DueAt: start + 1000, Tries: 2, MaxTries: 20, CreatedAt: start, ChangedAt: start + 1, Payload: []byte(`{"n":1}`),
	}
}

func (w *fakeBackend) Claim(_ context.Context, _ string, p taskqueue.Poll) ([]taskqueue.Task, error) {
	w.taskRequest = p
	if w.empty || w.fail != nil {
		return nil, w.fail
	}
	return []taskqueue.Task{queued()}, nil
}

// lostLeases returns the leases whose fence is not 1. The fake treats them as lost.
func allBut(leases []taskqueue.Lease) (lost []taskqueue.Lease) {
	for _, l := range leases {
		if l.Fence != 1 {
			lost = append(lost, l)
		}
	}
	return lost
}

func (w *fakeBackend) Renew(_ context.Context, _ string, leases []taskqueue.Lease, lease time.Duration) ([]taskqueue.Lease, error) {
	w.taskRequest = leased{leases, lease}
	return allBut(leases), w.fail
}

func (w *fakeBackend) Complete(_ context.Context, _ string, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	w.taskRequest = leased{leases, 0}
	return allBut(leases), w.fail
}

func (w *fakeBackend) Fail(_ context.Context, _ string, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	w.taskRequest = failed
	return nil, w.fail
}

func (w *fakeBackend) Task(_ context.Context, _, id string) (taskqueue.Task, error) {
	switch {
	case w.fail != nil:
		return taskqueue.Task{}, w.fail
	case id != taskID:
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	return queued(), nil
}

// taskCall is a call of the task queue by a service.
func taskCall(path, body string) call { return send("POST", tasks+path, body, bearerService) }

func TestTaskCallsArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	held := func(fences ...int64) (leases []taskqueue.Lease) {
		for _, fence := range fences {
			leases = append(leases, taskqueue.Lease{ID: taskID, Fence: fence})
		}
		return leases
	}
	one := `{"id":"` + taskID + `","fence":1`
	for name, tt := range map[string]struct {
		call   call
		status int
		want   any
		answer string
	}{
		"a task": {
			taskCall("", `{"tasks":[`+mail+`]}`), 202,
			[]taskqueue.NewTask{{Topic: "mail/eu", Key: "k", Payload: []byte(`{"n":1}`)}},
			`{"tasks":[{"id":"` + taskID + `0","state":"waiting","new":true}]}`,
		},
		"all fields of a task": {
			taskCall("", `{"tasks":[`+mail+`,{"topic":"t","key":"k2","priority":7,"ordering":"pausing","not_before":1795212345678,"max_tries":3,"payload":[]}]}`), 202,
			[]taskqueue.NewTask{
				{Topic: "mail/eu", Key: "k", Payload: []byte(`{"n":1}`)},
				{Topic: "t", Key: "k2", Priority: 7, Ordering: taskqueue.OrderedPausing, NotBefore: start, MaxTries: 3, Payload: []byte(`[]`)},
			},
			`{"id":"` + taskID + `1","state":"waiting","new":false}]}`,
		},
		"a claim": {
			taskCall("/claim", `{"kind":"mail"}`), 200, taskqueue.Poll{Kind: "mail", Max: 1, Lease: 30 * time.Second},
			`{"tasks":[{"id":"` + taskID + `","fence":4,"topic":"mail/eu","key":"k","priority":3,"tries":2,"lease_until":1795212346678,"payload":{"n":1}}]}`,
		},
		"all fields of a claim": {
			taskCall("/claim", `{"kind":"mail","max":100,"lease_ms":1500,"wait_ms":20000}`), 200,
			taskqueue.Poll{Kind: "mail", Max: 100, Lease: 1500 * time.Millisecond, Wait: 20 * time.Second}, `"fence":4`,
		},
		"a claim of no tasks": {taskCall("/claim", `{"kind":"mail","max":0,"lease_ms":0}`), 200, taskqueue.Poll{Kind: "mail"}, ""},
		"a claim with the longest wait": {
			taskCall("/claim", `{"kind":"mail","wait_ms":9223372036854775807}`), 200,
			taskqueue.Poll{Kind: "mail", Max: 1, Lease: 30 * time.Second, Wait: 9223372036854 * time.Millisecond}, "",
		},
		"a claim with a negative wait": {
			taskCall("/claim", `{"kind":"mail","wait_ms":-9223372036854775808}`), 200,
			taskqueue.Poll{Kind: "mail", Max: 1, Lease: 30 * time.Second, Wait: -time.Millisecond}, "",
		},
		"renewed":                      {taskCall("/renew", `{"leases":[`+one+`}],"lease_ms":60000}`), 200, leased{held(1), time.Minute}, `{"lost":[]}`},
		"renewed for the default time": {taskCall("/renew", `{"leases":[`+one+`}]}`), 200, leased{held(1), 30 * time.Second}, `{"lost":[]}`},
		"completed": {
			taskCall("/complete", `{"leases":[`+one+`},{"id":"`+taskID+`","fence":2}]}`), 200, leased{held(1, 2), 0},
			`{"lost":[{"id":"` + taskID + `","fence":2}]}`,
		},
		"failed": {
			taskCall("/fail", `{"tasks":[`+one+`,"error":"why"},`+one+`,"error":"no","retry_after_ms":5000},`+one+`,"error":"x","final":true},`+one+`,"error":"y","postpone":true}]}`), 200,
			[]taskqueue.FailedAttempt{
				{Lease: held(1)[0], Err: errors.New("why")}, {Lease: held(1)[0], Err: errors.New("no"), Wait: 5 * time.Second},
				{Lease: held(1)[0], Err: errors.New("x"), Final: true}, {Lease: held(1)[0], Err: errors.New("y"), Postponed: true},
			}, `{"lost":[]}`,
		},
		"read": {
			call{"GET", tasks + "/" + taskID, "", []string{bearerService}}, 200, nil,
			`{"id":"` + taskID + `","topic":"mail/eu","key":"k","priority":3,"state":"claimed","due_at":1795212346678,"tries":2,"max_tries":20,"errors":[],` +
				`"created_at":1795212345678,"changed_at":1795212345679,"payload":{"n":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &fakeBackend{}
			rec := serve(t, New(configOf(w)), tt.call)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.answer) || !reflect.DeepEqual(w.taskRequest, tt.want) {
				t.Errorf("%d %s, the queue was asked for %+v", rec.Code, rec.Body, w.taskRequest)
			}
		})
	}
}

func TestAClaimWithoutDueTasksReturnsAnEmptyList(t *testing.T) {
	t.Parallel()
	if rec := serve(t, New(configOf(&fakeBackend{empty: true})), taskCall("/claim", `{"kind":"mail"}`)); rec.Body.String() != "{\"tasks\":[]}\n" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// The handler refuses these calls before they reach the queue.
func TestInvalidTaskCallsAreRefused(t *testing.T) {
	t.Parallel()
	const lease = `{"leases":[{"id":"x","fence":1}]}`
	as := func(bearer string, path, body string) call { return send("POST", tasks+path, body, bearer) }
	wide := `{"tasks":[{"topic":"t","key":"k","payload":"` + strings.Repeat("x", maxTasksBody) + `"}]}`
	for name, tt := range map[string]struct {
		call   call
		status int
		code   protocol.Code
		detail string
	}{
		"no token":                   {send("POST", tasks, `{"tasks":[`+mail+`]}`), 401, protocol.CodeUnauthorized, "Bearer"},
		"a player enqueues":          {as(bearerGood, "", `{"tasks":[`+mail+`]}`), 403, protocol.CodeForbidden, "services"},
		"a player claims":            {as(bearerGood, "/claim", `{"kind":"mail"}`), 403, protocol.CodeForbidden, "services"},
		"a host completes":           {as("Authorization: Bearer host", "/complete", lease), 403, protocol.CodeForbidden, "services"},
		"a player renews":            {as(bearerGood, "/renew", lease), 403, protocol.CodeForbidden, "services"},
		"a player fails":             {as(bearerGood, "/fail", lease), 403, protocol.CodeForbidden, "services"},
		"a player reads":             {call{"GET", tasks + "/" + taskID, "", []string{bearerGood}}, 403, protocol.CodeForbidden, "services"},
		"token of another game":      {as("Authorization: Bearer foreign", "", `{"tasks":[`+mail+`]}`), 403, protocol.CodeForbidden, "another game"},
		"unknown game":               {send("POST", "/v1/games/nowhere/tasks", "{}", bearerService), 404, protocol.CodeNotFound, "no such game"},
		"unknown task":               {call{"GET", tasks + "/x", "", []string{bearerService}}, 404, protocol.CodeNotFound, "no such task"},
		"GET of a call":              {call{"GET", tasks + "/claim", "", []string{bearerService}}, 405, protocol.CodeBadRequest, "this path takes POST"},
		"DELETE of a task":           {call{"DELETE", tasks + "/" + taskID, "", []string{bearerService}}, 405, protocol.CodeBadRequest, "GET, HEAD"},
		"a parameter":                {as(bearerService, "/claim?wait_ms=1", `{"kind":"mail"}`), 400, protocol.CodeBadRequest, `"wait_ms"`},
		"text":                       {call{"POST", tasks, mail, []string{bearerService, "Content-Type: text/plain"}}, 415, protocol.CodeBadRequest, "application/json"},
		"no list":                    {as(bearerService, "", `{}`), 400, protocol.CodeBadRequest, `"tasks"`},
		"a task without a key":       {as(bearerService, "", `{"tasks":[`+mail+`,{"topic":"t","payload":1}]}`), 400, protocol.CodeBadRequest, `tasks[1] needs a field "key"`},
		"a task that is null":        {as(bearerService, "", `{"tasks":[null]}`), 400, protocol.CodeBadRequest, "tasks[0]"},
		"a payload of null":          {as(bearerService, "", `{"tasks":[{"topic":"t","key":"k","payload":null}]}`), 400, protocol.CodeBadRequest, `"payload"`},
		"a field of a task":          {as(bearerService, "", `{"tasks":[{"topic":"t","key":"k","payload":1,"game":"x"}]}`), 400, protocol.CodeBadRequest, `"game"`},
		"a priority of text":         {as(bearerService, "", `{"tasks":[{"topic":"t","key":"k","payload":1,"priority":"7"}]}`), 400, protocol.CodeBadRequest, `"priority"`},
		"too large":                  {as(bearerService, "", wide), 413, protocol.CodePayloadTooLarge, "8388608"},
		"a claim of no kind":         {as(bearerService, "/claim", `{"max":1}`), 400, protocol.CodeBadRequest, `"kind"`},
		"a claim with a game":        {as(bearerService, "/claim", `{"kind":"mail","game":"x"}`), 400, protocol.CodeBadRequest, `"game"`},
		"a claim too large":          {as(bearerService, "/claim", `{"kind":"`+strings.Repeat("x", maxBody)+`"}`), 413, protocol.CodePayloadTooLarge, "1048576"},
		"a lease without fence":      {as(bearerService, "/complete", `{"leases":[{"id":"x"}]}`), 400, protocol.CodeBadRequest, `"fence"`},
		"a failure without an error": {as(bearerService, "/fail", `{"tasks":[{"id":"x","fence":1}]}`), 400, protocol.CodeBadRequest, `"error"`},
		"no leases":                  {as(bearerService, "/renew", `{"lease_ms":1}`), 400, protocol.CodeBadRequest, `"leases"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &fakeBackend{}
			rec := serve(t, New(configOf(w)), tt.call)
			p := problemIn(t, rec.Body.Bytes())
			if rec.Code != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) || w.taskRequest != nil {
				t.Errorf("%d %s, the queue was asked for %v; want %d %s with %q", rec.Code, rec.Body, w.taskRequest, tt.status, tt.code, tt.detail)
			}
		})
	}
}

// The handler passes on at most one task more than a call may have. So the queue notices that
// there are too many.
func TestTooManyTasksReachTheQueueAsOneMore(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{100: 100, 101: 101, 5000: 101} {
		w := &fakeBackend{}
		body := `{"tasks":[` + strings.TrimSuffix(strings.Repeat(mail+",", n), ",") + `]}`
		serve(t, New(configOf(w)), taskCall("", body))
		if got := len(w.taskRequest.([]taskqueue.NewTask)); got != want {
			t.Errorf("of %d tasks, %d reached the queue", n, got)
		}
	}
}

func TestAFailingTaskQueueIsUnavailable(t *testing.T) {
	t.Parallel()
	const lease = `{"leases":[{"id":"x","fence":1}]}`
	for _, c := range []call{
		taskCall("", `{"tasks":[`+mail+`]}`), taskCall("/claim", `{"kind":"mail"}`), taskCall("/renew", lease), taskCall("/complete", lease),
		taskCall("/fail", `{"tasks":[{"id":"x","fence":1,"error":"why"}]}`), {http.MethodGet, tasks + "/" + taskID, "", []string{bearerService}},
	} {
		for err, want := range map[error]int{taskqueue.ErrTooManyPolls: 503, errStore: 503, taskqueue.ErrBadRequest: 400} {
			if rec := serve(t, New(configOf(&fakeBackend{fail: err})), c); rec.Code != want {
				t.Errorf("%s %s: %v: %d %s", c.method, c.target, err, rec.Code, rec.Body)
			}
		}
	}
}
