package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/internal/taskqueue"
)

// The statuses of HTTP that mean more than success or failure.
const (
	statusGone            = 410
	statusTooManyRequests = 429
	statusUnavailable     = 503
)

const (
	// rollout is how long nodes may differ in their configuration: an endpoint that
	// one does not know may be another's.
	configRollout = 10 * time.Minute
	// mostThrottled is how long a delivery is put off by an endpoint that is busy;
	// then its tries count all the same.
	maxThrottled = 3 * 24 * time.Hour

	shortDelay = time.Second
)

var errUnknown = errors.New("no endpoint of the configuration is meant; `server tasks discard` if it was taken out")

// deliver makes a try.
func (o *Dispatcher) deliver(ctx context.Context, t taskqueue.Task) error {
	r := o.Registry.topics[t.Topic]
	if r == nil && age(&t) < configRollout {
		return taskqueue.Postpone(errUnknown, time.Minute)
	}
	if r == nil {
		return taskqueue.Permanent(errUnknown)
	}
	reason, err := o.disabledReason(ctx, r)
	if err != nil {
		return taskqueue.Postpone(err, shortDelay)
	}
	if reason != "" {
		return taskqueue.Permanent(fmt.Errorf("the endpoint is disabled: %s; `server webhooks enable` it and requeue the task", reason))
	}
	if err := r.acquire(ctx); err != nil {
		return err
	}
	return o.decide(ctx, r, &t, o.attempt(ctx, r, Message{ID: t.Key, Body: t.Payload}))
}

// whyDisabled says why nothing is sent to an endpoint. What would be the death of
// a delivery is asked for anew: another node may have enabled it meanwhile.
func (o *Dispatcher) disabledReason(ctx context.Context, r *endpointState) (string, error) {
	if o.isStateKnown.Load() && r.disabledReason() == "" {
		return "", nil
	}
	err := o.refreshStates(ctx)
	return r.disabledReason(), err
}

// try posts a message with a hand of the endpoint's.
func (o *Dispatcher) attempt(ctx context.Context, r *endpointState, m Message) Reply {
	defer r.release(time.Now())
	reply := o.send(ctx, r, m)
	switch {
	case reply.Err == nil:
		r.resetPause()
	case reply.isThrottled():
		r.pause(reply.RetryAfter)
	}
	return reply
}

func (o *Dispatcher) send(ctx context.Context, r *endpointState, m Message) Reply {
	start := time.Now()
	reply := o.Poster.Post(ctx, r.Endpoint, m)
	o.Registry.metrics.observeSend(r, reply.Status, time.Since(start))
	if reply.Err != nil && ctx.Err() == nil {
		r.recordError(reply.Err)
	}
	return reply
}

// judge says what becomes of the delivery.
func (o *Dispatcher) decide(ctx context.Context, r *endpointState, t *taskqueue.Task, reply Reply) error {
	switch {
	case reply.Err == nil:
		return nil
	case ctx.Err() != nil: // nobody waits for it any more
		return ctx.Err()
	case reply.Status == statusGone:
		return o.disableGone(ctx, r, reply.Err)
	case reply.isThrottled() && age(t) < maxThrottled:
		return r.postpone(reply.Err)
	}
	return reply.Err
}

// gone disables an endpoint that wants nothing any more.
func (o *Dispatcher) disableGone(ctx context.Context, r *endpointState, cause error) error {
	if err := o.disable(ctx, r, cause.Error()); err != nil {
		return fmt.Errorf("%w, and it could not be disabled: %w", cause, err)
	}
	o.Logger.Warn("an endpoint of webhooks wants no more and is disabled; see `server webhooks`", "game", r.Game, "endpoint", r.Name, "error", cause)
	return taskqueue.Permanent(cause)
}

// throttles says whether the endpoint wants to be left alone for a while.
func (r Reply) isThrottled() bool {
	return r.RetryAfter > 0 || r.Status == statusTooManyRequests || r.Status == statusUnavailable
}

func age(t *taskqueue.Task) time.Duration { return time.Since(time.UnixMilli(t.CreatedAt)) }
