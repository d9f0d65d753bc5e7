package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"time"

	"laststand/internal/taskqueue"
)

// What a claim is that does not say.
const (
	defaultClaim = 1
	defaultLease = 30 * time.Second
)

// claimBody asks for tasks to be handed out.
type claimBody struct {
	Kind    string `json:"kind" need:"true"`
	Max     *int   `json:"max"`
	LeaseMS *int64 `json:"lease_ms"`
	WaitMS  int64  `json:"wait_ms"`
}

// claimed are the tasks handed out, none after the wait.
type claimed struct {
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

// postClaim hands tasks out, and may wait for them: see patience. It waits no
// longer than its service may come.
func (a *api) postClaim(w http.ResponseWriter, r *request) error {
	service, err := a.worker(r)
	if err != nil {
		return err
	}
	var body claimBody
	if err := readBody(w, r.Request, &body); err != nil {
		return err
	}
	poll := taskqueue.Poll{Kind: body.Kind, Max: defaultClaim, Lease: leaseOf(body.LeaseMS), Wait: duration(body.WaitMS)}
	if body.Max != nil {
		poll.Max = *body.Max
	}
	ctx, leave := a.Standing.enter(r.Request, service)
	defer leave()
	tasks, err := a.Tasks.Claim(ctx, r.game, poll)
	if barred := refusal(ctx); barred != nil {
		return barred // tasks that were just handed out are so again when their leases end
	}
	if err != nil {
		return err
	}
	out := claimed{make([]claimedTask, len(tasks))}
	for i, t := range tasks {
		out.Tasks[i] = claimedTask{
			ID: t.ID, Fence: t.Fence, Topic: t.Topic, Key: t.Key, Priority: t.Priority,
			Tries: t.Tries, LeaseUntil: t.DueAt, Payload: t.Payload,
		}
	}
	return answer(w, http.StatusOK, out)
}

func leaseOf(ms *int64) time.Duration {
	if ms == nil {
		return defaultLease
	}
	return duration(*ms)
}

// duration is that of some milliseconds; what is out of its range stays out of
// every bound.
func duration(ms int64) time.Duration {
	return time.Duration(max(-1, min(ms, math.MaxInt64/int64(time.Millisecond)))) * time.Millisecond
}

// leasesBody names tries under way.
type leasesBody struct {
	Leases []leaseBody `json:"leases" need:"true"`
}

type leaseBody struct {
	ID    string `json:"id" need:"true"`
	Fence int64  `json:"fence" need:"true"`
}

func (b *leasesBody) leases() []taskqueue.Lease {
	all := make([]taskqueue.Lease, len(b.Leases))
	for i, l := range b.Leases {
		all[i] = taskqueue.Lease(l)
	}
	return all
}

// renewBody has them go on.
type renewBody struct {
	leasesBody
	LeaseMS *int64 `json:"lease_ms"`
}

// failBody says that they failed.
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

// lost are the leases that no longer hold: nothing was changed for them.
type lost struct {
	Lost []taskqueue.Lease `json:"lost"`
}

func (a *api) postRenew(w http.ResponseWriter, r *request) error {
	var body renewBody
	return a.tellTries(w, r, &body, func() ([]taskqueue.Lease, error) {
		return a.Tasks.Renew(r.Context(), r.game, body.leases(), leaseOf(body.LeaseMS))
	})
}

func (a *api) postComplete(w http.ResponseWriter, r *request) error {
	var body leasesBody
	return a.tellTries(w, r, &body, func() ([]taskqueue.Lease, error) {
		return a.Tasks.Complete(r.Context(), r.game, body.leases())
	})
}

func (a *api) postFail(w http.ResponseWriter, r *request) error {
	var body failBody
	return a.tellTries(w, r, &body, func() ([]taskqueue.Lease, error) {
		failed := make([]taskqueue.FailedAttempt, len(body.Tasks))
		for i, t := range body.Tasks {
			failed[i] = taskqueue.FailedAttempt{
				Lease: taskqueue.Lease{ID: t.ID, Fence: t.Fence}, Err: errors.New(t.Error),
				Wait: duration(t.RetryAfterMS), Final: t.Final, Postponed: t.Postpone,
			}
		}
		return a.Tasks.Fail(r.Context(), r.game, failed)
	})
}

// tellTries answers what a service says of tries, once its body is read.
func (a *api) tellTries(w http.ResponseWriter, r *request, body any, tell func() ([]taskqueue.Lease, error)) error {
	if _, err := a.worker(r); err != nil {
		return err
	}
	if err := readBody(w, r.Request, body); err != nil {
		return err
	}
	gone, err := tell()
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, lost{list(gone)})
}
