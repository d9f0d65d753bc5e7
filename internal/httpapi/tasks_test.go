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
	demoTasksPath = demoPath + "/tasks"
	taskID        = "01KAGX7M1C9V5W2E8R4T6Y0Z3B"
	mailTask      = `{"topic":"mail/eu","key":"k","payload":{"n":1}}`
)

// leasesCall is a recorded call about leases.
type leasesCall struct {
	leases []taskqueue.Lease
	lease  time.Duration // 0: the call completes the tasks
}

func (b *fakeBackend) Enqueue(_ context.Context, game string, tasks []taskqueue.NewTask) (accepted []taskqueue.Accepted, err error) {
	if game != "demo" || b.fail != nil {
		return nil, b.fail
	}
	b.taskRequest = tasks
	for i := range tasks {
		accepted = append(accepted, taskqueue.Accepted{ID: fmt.Sprint(taskID, i), State: taskqueue.StateWaiting, New: i == 0})
	}
	return accepted, nil
}

// newClaimedTask returns a task as the queue returns it.
func newClaimedTask() taskqueue.Task {
	return taskqueue.Task{
		ID: taskID, Game: "demo", Topic: "mail/eu", Key: "k", Priority: 3, State: taskqueue.StateClaimed, Pos: 7, Fence: 4,
		DueAt: startTime + 1000, Tries: 2, MaxTries: 20, CreatedAt: startTime, ChangedAt: startTime + 1, Payload: []byte(`{"n":1}`),
	}
}

func (b *fakeBackend) Claim(_ context.Context, _ string, p taskqueue.Poll) ([]taskqueue.Task, error) {
	b.taskRequest = p
	if b.empty || b.fail != nil {
		return nil, b.fail
	}
	return []taskqueue.Task{newClaimedTask()}, nil
}

// lostLeases returns the leases whose fence is not 1. The fake treats them as lost.
func lostLeases(leases []taskqueue.Lease) (lost []taskqueue.Lease) {
	for _, l := range leases {
		if l.Fence != 1 {
			lost = append(lost, l)
		}
	}
	return lost
}

func (b *fakeBackend) Renew(_ context.Context, _ string, leases []taskqueue.Lease, lease time.Duration) ([]taskqueue.Lease, error) {
	b.taskRequest = leasesCall{leases, lease}
	return lostLeases(leases), b.fail
}

func (b *fakeBackend) Complete(_ context.Context, _ string, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	b.taskRequest = leasesCall{leases, 0}
	return lostLeases(leases), b.fail
}

func (b *fakeBackend) Fail(_ context.Context, _ string, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	b.taskRequest = failed
	return nil, b.fail
}

func (b *fakeBackend) Task(_ context.Context, _, id string) (taskqueue.Task, error) {
	switch {
	case b.fail != nil:
		return taskqueue.Task{}, b.fail
	case id != taskID:
		return taskqueue.Task{}, taskqueue.ErrNotFound
	}
	return newClaimedTask(), nil
}

// taskCall is a call of the task queue by a service.
func taskCall(path, body string) call {
	return jsonCall("POST", demoTasksPath+path, body, bearerService)
}

func TestTaskCallsArePassedOnUnchanged(t *testing.T) {
	t.Parallel()
	leasesWithFences := func(fences ...int64) (leases []taskqueue.Lease) {
		for _, fence := range fences {
			leases = append(leases, taskqueue.Lease{ID: taskID, Fence: fence})
		}
		return leases
	}
	openLease := `{"id":"` + taskID + `","fence":1`
	for name, tt := range map[string]struct {
		call   call
		status int
		want   any
		answer string
	}{
		"a task": {
			taskCall("", `{"tasks":[`+mailTask+`]}`), 202,
			[]taskqueue.NewTask{{Topic: "mail/eu", Key: "k", Payload: []byte(`{"n":1}`)}},
			`{"tasks":[{"id":"` + taskID + `0","state":"waiting","new":true}]}`,
		},
		"all fields of a task": {
			taskCall("", `{"tasks":[`+mailTask+`,{"topic":"t","key":"k2","priority":7,"ordering":"pausing","not_before":1795212345678,"max_tries":3,"payload":[]}]}`), 202,
			[]taskqueue.NewTask{
				{Topic: "mail/eu", Key: "k", Payload: []byte(`{"n":1}`)},
				{Topic: "t", Key: "k2", Priority: 7, Ordering: taskqueue.OrderedPausing, NotBefore: startTime, MaxTries: 3, Payload: []byte(`[]`)},
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
		"renewed":                      {taskCall("/renew", `{"leases":[`+openLease+`}],"lease_ms":60000}`), 200, leasesCall{leasesWithFences(1), time.Minute}, `{"lost":[]}`},
		"renewed for the default time": {taskCall("/renew", `{"leases":[`+openLease+`}]}`), 200, leasesCall{leasesWithFences(1), 30 * time.Second}, `{"lost":[]}`},
		"completed": {
			taskCall("/complete", `{"leases":[`+openLease+`},{"id":"`+taskID+`","fence":2}]}`), 200, leasesCall{leasesWithFences(1, 2), 0},
			`{"lost":[{"id":"` + taskID + `","fence":2}]}`,
		},
		"failed": {
			taskCall("/fail", `{"tasks":[`+openLease+`,"error":"why"},`+openLease+`,"error":"no","retry_after_ms":5000},`+openLease+`,"error":"x","final":true},`+openLease+`,"error":"y","postpone":true}]}`), 200,
			[]taskqueue.FailedAttempt{
				{Lease: leasesWithFences(1)[0], Err: errors.New("why")}, {Lease: leasesWithFences(1)[0], Err: errors.New("no"), Wait: 5 * time.Second},
				{Lease: leasesWithFences(1)[0], Err: errors.New("x"), Final: true}, {Lease: leasesWithFences(1)[0], Err: errors.New("y"), Postponed: true},
			}, `{"lost":[]}`,
		},
		"read": {
			call{"GET", demoTasksPath + "/" + taskID, "", []string{bearerService}}, 200, nil,
			`{"id":"` + taskID + `","topic":"mail/eu","key":"k","priority":3,"state":"claimed","due_at":1795212346678,"tries":2,"max_tries":20,"errors":[],` +
				`"created_at":1795212345678,"changed_at":1795212345679,"payload":{"n":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &fakeBackend{}
			rec := serve(t, New(newTestConfig(w)), tt.call)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.answer) || !reflect.DeepEqual(w.taskRequest, tt.want) {
				t.Errorf("%d %s, the queue was asked for %+v", rec.Code, rec.Body, w.taskRequest)
			}
		})
	}
}

func TestAClaimWithoutDueTasksReturnsAnEmptyList(t *testing.T) {
	t.Parallel()
	if rec := serve(t, New(newTestConfig(&fakeBackend{empty: true})), taskCall("/claim", `{"kind":"mail"}`)); rec.Body.String() != "{\"tasks\":[]}\n" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// The handler refuses these calls before they reach the queue.
func TestInvalidTaskCallsAreRefused(t *testing.T) {
	t.Parallel()
	const lease = `{"leases":[{"id":"x","fence":1}]}`
	callAs := func(bearer string, path, body string) call { return jsonCall("POST", demoTasksPath+path, body, bearer) }
	tooLarge := `{"tasks":[{"topic":"t","key":"k","payload":"` + strings.Repeat("x", maxTasksBody) + `"}]}`
	checkRefusals(t, map[string]refusal{
		"no token":                   {jsonCall("POST", demoTasksPath, `{"tasks":[`+mailTask+`]}`), 401, protocol.CodeUnauthorized, "Bearer"},
		"a player enqueues":          {callAs(bearerGood, "", `{"tasks":[`+mailTask+`]}`), 403, protocol.CodeForbidden, "services"},
		"a player claims":            {callAs(bearerGood, "/claim", `{"kind":"mail"}`), 403, protocol.CodeForbidden, "services"},
		"a host completes":           {callAs("Authorization: Bearer host", "/complete", lease), 403, protocol.CodeForbidden, "services"},
		"a player renews":            {callAs(bearerGood, "/renew", lease), 403, protocol.CodeForbidden, "services"},
		"a player fails":             {callAs(bearerGood, "/fail", lease), 403, protocol.CodeForbidden, "services"},
		"a player reads":             {call{"GET", demoTasksPath + "/" + taskID, "", []string{bearerGood}}, 403, protocol.CodeForbidden, "services"},
		"token of another game":      {callAs("Authorization: Bearer foreign", "", `{"tasks":[`+mailTask+`]}`), 403, protocol.CodeForbidden, "another game"},
		"unknown game":               {jsonCall("POST", "/v1/games/nowhere/tasks", "{}", bearerService), 404, protocol.CodeNotFound, "no such game"},
		"unknown task":               {call{"GET", demoTasksPath + "/x", "", []string{bearerService}}, 404, protocol.CodeNotFound, "no such task"},
		"GET of a call":              {call{"GET", demoTasksPath + "/claim", "", []string{bearerService}}, 405, protocol.CodeBadRequest, "this path takes POST"},
		"DELETE of a task":           {call{"DELETE", demoTasksPath + "/" + taskID, "", []string{bearerService}}, 405, protocol.CodeBadRequest, "GET, HEAD"},
		"a parameter":                {callAs(bearerService, "/claim?wait_ms=1", `{"kind":"mail"}`), 400, protocol.CodeBadRequest, `"wait_ms"`},
		"text":                       {call{"POST", demoTasksPath, mailTask, []string{bearerService, "Content-Type: text/plain"}}, 415, protocol.CodeBadRequest, "application/json"},
		"no list":                    {callAs(bearerService, "", `{}`), 400, protocol.CodeBadRequest, `"tasks"`},
		"a task without a key":       {callAs(bearerService, "", `{"tasks":[`+mailTask+`,{"topic":"t","payload":1}]}`), 400, protocol.CodeBadRequest, `tasks[1] needs a field "key"`},
		"a task that is null":        {callAs(bearerService, "", `{"tasks":[null]}`), 400, protocol.CodeBadRequest, "tasks[0]"},
		"a payload of null":          {callAs(bearerService, "", `{"tasks":[{"topic":"t","key":"k","payload":null}]}`), 400, protocol.CodeBadRequest, `"payload"`},
		"a field of a task":          {callAs(bearerService, "", `{"tasks":[{"topic":"t","key":"k","payload":1,"game":"x"}]}`), 400, protocol.CodeBadRequest, `"game"`},
		"a priority of text":         {callAs(bearerService, "", `{"tasks":[{"topic":"t","key":"k","payload":1,"priority":"7"}]}`), 400, protocol.CodeBadRequest, `"priority"`},
		"too large":                  {callAs(bearerService, "", tooLarge), 413, protocol.CodePayloadTooLarge, "8388608"},
		"a claim of no kind":         {callAs(bearerService, "/claim", `{"max":1}`), 400, protocol.CodeBadRequest, `"kind"`},
		"a claim with a game":        {callAs(bearerService, "/claim", `{"kind":"mail","game":"x"}`), 400, protocol.CodeBadRequest, `"game"`},
		"a claim too large":          {callAs(bearerService, "/claim", `{"kind":"`+strings.Repeat("x", maxBody)+`"}`), 413, protocol.CodePayloadTooLarge, "1048576"},
		"a lease without fence":      {callAs(bearerService, "/complete", `{"leases":[{"id":"x"}]}`), 400, protocol.CodeBadRequest, `"fence"`},
		"a failure without an error": {callAs(bearerService, "/fail", `{"tasks":[{"id":"x","fence":1}]}`), 400, protocol.CodeBadRequest, `"error"`},
		"no leases":                  {callAs(bearerService, "/renew", `{"lease_ms":1}`), 400, protocol.CodeBadRequest, `"leases"`},
	})
}

// The handler passes on at most one task more than a call may have. So the queue notices that
// there are too many.
func TestAtMostOneTaskAboveTheLimitReachesTheQueue(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]int{100: 100, 101: 101, 5000: 101} {
		backend := &fakeBackend{}
		body := `{"tasks":[` + strings.TrimSuffix(strings.Repeat(mailTask+",", count), ",") + `]}`
		serve(t, New(newTestConfig(backend)), taskCall("", body))
		if got := len(backend.taskRequest.([]taskqueue.NewTask)); got != want {
			t.Errorf("of %d tasks, %d reached the queue", count, got)
		}
	}
}

func TestAFailingTaskQueueIsUnavailable(t *testing.T) {
	t.Parallel()
	const lease = `{"leases":[{"id":"x","fence":1}]}`
	for _, c := range []call{
		taskCall("", `{"tasks":[`+mailTask+`]}`), taskCall("/claim", `{"kind":"mail"}`), taskCall("/renew", lease), taskCall("/complete", lease),
		taskCall("/fail", `{"tasks":[{"id":"x","fence":1,"error":"why"}]}`), {http.MethodGet, demoTasksPath + "/" + taskID, "", []string{bearerService}},
	} {
		for err, want := range map[error]int{taskqueue.ErrTooManyPolls: 503, errStore: 503, taskqueue.ErrBadRequest: 400} {
			if rec := serve(t, New(newTestConfig(&fakeBackend{fail: err})), c); rec.Code != want {
				t.Errorf("%s %s: %v: %d %s", c.method, c.target, err, rec.Code, rec.Body)
			}
		}
	}
}
