package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"laststand/internal/httpserver"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

const (
	// maxTasksBody is the maximum size of a body with new tasks, in bytes. It is
	// enough for taskqueue.MaxPerCall tasks with the largest payloads.
	maxTasksBody = 8 << 20

	// The defaults of a claim's max and lease_ms.
	defaultClaimMax = 1
	defaultLease    = 30 * time.Second
)

// tasksBody is the body with new tasks. Like behavioursBody it has one element
// more than a call may use.
type tasksBody struct {
	Tasks [taskqueue.MaxPerCall + 1]json.RawMessage `json:"tasks" need:"true"`
}

type enqueueResponse struct {
	Tasks []taskqueue.Accepted `json:"tasks"`
}

// postTasks enqueues tasks of a game service. It responds after the tasks are on
// disk.
func (h serviceRoutes) postTasks(r *request, body *tasksBody) (any, error) {
	sent := presentElements(body.Tasks[:])
	tasks := make([]taskqueue.NewTask, len(sent))
	for i, raw := range sent {
		if err := (protocol.Request{Type: fmt.Sprintf("tasks[%d]", i), Data: raw}).Decode(&tasks[i]); err != nil {
			return nil, err
		}
	}
	accepted, err := h.Tasks.Enqueue(r.Context(), r.game, tasks)
	return httpserver.Response{Status: http.StatusAccepted, Body: enqueueResponse{accepted}}, err
}

// taskView is a task without the fields that only operators can see.
type taskView struct {
	ID        string                   `json:"id"`
	Topic     string                   `json:"topic"`
	Key       string                   `json:"key"`
	Priority  int64                    `json:"priority"`
	Ordering  taskqueue.Ordering       `json:"ordering,omitempty"`
	State     taskqueue.State          `json:"state"`
	DueAt     int64                    `json:"due_at,omitempty"`
	Tries     int64                    `json:"tries"`
	MaxTries  int64                    `json:"max_tries"`
	Errors    []taskqueue.AttemptError `json:"errors"`
	CreatedAt int64                    `json:"created_at"`
	ChangedAt int64                    `json:"changed_at"`
	Payload   json.RawMessage          `json:"payload"`
}

func (h serviceRoutes) getTask(r *request) (any, error) {
	task, err := h.Tasks.Task(r.Context(), r.game, r.PathValue("task"))
	return taskView{
		ID: task.ID, Topic: task.Topic, Key: task.Key, Priority: task.Priority, Ordering: task.Ordering, State: task.State, DueAt: task.DueAt,
		Tries: task.Tries, MaxTries: task.MaxTries, Errors: nonNil(task.Errors), CreatedAt: task.CreatedAt, ChangedAt: task.ChangedAt, Payload: task.Payload,
	}, err
}

type claimBody struct {
	Kind    string `json:"kind" need:"true"`
	Max     *int   `json:"max"`
	LeaseMS *int64 `json:"lease_ms"`
	WaitMS  int64  `json:"wait_ms"`
}

// claimResponse lists the claimed tasks. It is empty if no task was due during
// the wait.
type claimResponse struct {
	Tasks []claimedTask `json:"tasks"`
}

type claimedTask struct {
	ID         string          `json:"id"`
	Fence      int64           `json:"fence"`
	Topic      string          `json:"topic"`
	Key        string          `json:"key"`
	Priority   int64           `json:"priority"`
	Tries      int64           `json:"tries"`
	LeaseUntil int64           `json:"lease_until"`
	Payload    json.RawMessage `json:"payload"`
}

// postClaim claims due tasks. If none is due, it waits up to wait_ms. The wait
// ends early if the token of the service is revoked.
func (h serviceRoutes) postClaim(r *request, body *claimBody) (any, error) {
	poll := taskqueue.Poll{Kind: body.Kind, Max: defaultClaimMax, Lease: leaseDuration(body.LeaseMS), Wait: clampedMilliseconds(body.WaitMS)}
	if body.Max != nil {
		poll.Max = *body.Max
	}
	var tasks []taskqueue.Task // those claimed just before a revocation become due again when their leases end
	err := h.RevocableCalls.run(r.Context(), r.claims, func(ctx context.Context) (err error) {
		tasks, err = h.Tasks.Claim(ctx, r.game, poll)
		return err
	})
	response := claimResponse{make([]claimedTask, len(tasks))}
	for i, task := range tasks {
		response.Tasks[i] = claimedTask{task.ID, task.Fence, task.Topic, task.Key, task.Priority, task.Tries, task.DueAt, task.Payload}
	}
	return response, err
}

func leaseDuration(ms *int64) time.Duration {
	if ms == nil {
		return defaultLease
	}
	return clampedMilliseconds(*ms)
}

// clampedMilliseconds converts milliseconds to a duration. It clamps a value that
// is negative or too large; the result is still outside of each valid range, so
// that the task queue refuses it.
func clampedMilliseconds(ms int64) time.Duration {
	return time.Duration(max(-1, min(ms, math.MaxInt64/int64(time.Millisecond)))) * time.Millisecond
}

type leasesBody struct {
	Leases []taskqueue.Lease `json:"leases" need:"true"`
}

type renewBody struct {
	leasesBody
	LeaseMS *int64 `json:"lease_ms"`
}

type failBody struct {
	Tasks []failedTask `json:"tasks" need:"true"`
}

type failedTask struct {
	ID           string `json:"id" need:"true"`
	Fence        int64  `json:"fence" need:"true"`
	Error        string `json:"error" need:"true"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	Final        bool   `json:"final"`
	Postpone     bool   `json:"postpone"`
}

// leasesResponse lists the leases that the service no longer holds. The call
// changed nothing for them.
type leasesResponse struct {
	Lost []taskqueue.Lease `json:"lost"`
}

func (h serviceRoutes) postRenew(r *request, body *renewBody) (any, error) {
	lost, err := h.Tasks.Renew(r.Context(), r.game, body.Leases, leaseDuration(body.LeaseMS))
	return leasesResponse{nonNil(lost)}, err
}

func (h serviceRoutes) postComplete(r *request, body *leasesBody) (any, error) {
	lost, err := h.Tasks.Complete(r.Context(), r.game, body.Leases)
	return leasesResponse{nonNil(lost)}, err
}

func (h serviceRoutes) postFail(r *request, body *failBody) (any, error) {
	failed := make([]taskqueue.FailedAttempt, len(body.Tasks))
	for i, task := range body.Tasks {
		failed[i] = taskqueue.FailedAttempt{
			Lease: taskqueue.Lease{ID: task.ID, Fence: task.Fence}, Err: errors.New(task.Error),
			Wait: clampedMilliseconds(task.RetryAfterMS), Final: task.Final, Postponed: task.Postpone,
		}
	}
	lost, err := h.Tasks.Fail(r.Context(), r.game, failed)
	return leasesResponse{nonNil(lost)}, err
}
