package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"laststand/internal/taskqueue"
)

// The defaults of a claim's max and lease_ms.
const (
	defaultClaimMax = 1
	defaultLease    = 30 * time.Second
)

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
func (h serviceRoutes) postClaim(r *request) (any, error) {
	service, err := h.authenticateTaskCall(r)
	if err != nil {
		return nil, err
	}
	var body claimBody
	if err := r.readBody(&body); err != nil {
		return nil, err
	}
	poll := taskqueue.Poll{Kind: body.Kind, Max: defaultClaimMax, Lease: leaseDuration(body.LeaseMS), Wait: clampedMilliseconds(body.WaitMS)}
	if body.Max != nil {
		poll.Max = *body.Max
	}
	ctx, untrack := h.RevocableCalls.track(r.Request, service)
	defer untrack()
	tasks, err := h.Tasks.Claim(ctx, r.game, poll)
	if revoked := revocationError(ctx); revoked != nil {
		return nil, revoked // tasks that were just claimed become due again when their leases end
	}
	if err != nil {
		return nil, err
	}
	response := claimResponse{make([]claimedTask, len(tasks))}
	for i, task := range tasks {
		response.Tasks[i] = claimedTask{
			ID: task.ID, Fence: task.Fence, Topic: task.Topic, Key: task.Key, Priority: task.Priority,
			Tries: task.Tries, LeaseUntil: task.DueAt, Payload: task.Payload,
		}
	}
	return response, nil
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
	Leases []leaseBody `json:"leases" need:"true"`
}

type leaseBody struct {
	ID    string `json:"id" need:"true"`
	Fence int64  `json:"fence" need:"true"`
}

func (b *leasesBody) leases() []taskqueue.Lease {
	leases := make([]taskqueue.Lease, len(b.Leases))
	for i, lease := range b.Leases {
		leases[i] = taskqueue.Lease(lease)
	}
	return leases
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

func (h serviceRoutes) postRenew(r *request) (any, error) {
	var body renewBody
	return h.changeLeases(r, &body, func() ([]taskqueue.Lease, error) {
		return h.Tasks.Renew(r.Context(), r.game, body.leases(), leaseDuration(body.LeaseMS))
	})
}

func (h serviceRoutes) postComplete(r *request) (any, error) {
	var body leasesBody
	return h.changeLeases(r, &body, func() ([]taskqueue.Lease, error) {
		return h.Tasks.Complete(r.Context(), r.game, body.leases())
	})
}

func (h serviceRoutes) postFail(r *request) (any, error) {
	var body failBody
	return h.changeLeases(r, &body, func() ([]taskqueue.Lease, error) {
		failed := make([]taskqueue.FailedAttempt, len(body.Tasks))
		for i, task := range body.Tasks {
			failed[i] = taskqueue.FailedAttempt{
				Lease: taskqueue.Lease{ID: task.ID, Fence: task.Fence}, Err: errors.New(task.Error),
				Wait: clampedMilliseconds(task.RetryAfterMS), Final: task.Final, Postponed: task.Postpone,
			}
		}
		return h.Tasks.Fail(r.Context(), r.game, failed)
	})
}

// changeLeases reads the body, calls change, and answers with the lost leases.
func (h serviceRoutes) changeLeases(r *request, body any, change func() ([]taskqueue.Lease, error)) (any, error) {
	if _, err := h.authenticateTaskCall(r); err != nil {
		return nil, err
	}
	if err := r.readBody(body); err != nil {
		return nil, err
	}
	lost, err := change()
	if err != nil {
		return nil, err
	}
	return leasesResponse{nonNil(lost)}, nil
}
