package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"laststand/internal/taskqueue"
)

// These HTTP statuses mean more than success or failure.
const (
	statusGone            = 410
	statusTooManyRequests = 429
	statusUnavailable     = 503
)

const (
	// configRollout is how long nodes may have different configurations after a
	// change. In this time another node may have an endpoint that this one does not
	// know.
	configRollout = 10 * time.Minute
	// maxThrottledAge is the age up to which a throttled endpoint only postpones a
	// delivery. After it each attempt counts against maxAttempts.
	maxThrottled = 3 * 24 * time.Hour

	shortDelay = time.Second // after a failed read of the endpoint's state
)

var errUnknown = errors.New("the configuration has no such endpoint; if it was removed, use `server tasks discard`")

// deliver handles a delivery task: it makes one attempt to send the message.
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

// disabledReason returns why an endpoint is disabled, or "" if it is enabled. A reason
// makes the delivery dead. So before it returns a reason, it reads the states again,
// because another node may have enabled the endpoint.
func (o *Dispatcher) disabledReason(ctx context.Context, r *endpointState) (string, error) {
	if o.isStateKnown.Load() && r.disabledReason() == "" {
		return "", nil
	}
	err := o.refreshStates(ctx)
	return r.disabledReason(), err
}

// attemptDelivery posts a message and releases the endpoint's slot, which the caller
// has acquired. It pauses the endpoint if the reply asks for that.
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

// deliveryResult returns the result of a delivery task after a reply: nil if the
// delivery is done, or an error that retries, postpones or ends it.
func (o *Dispatcher) decide(ctx context.Context, r *endpointState, t *taskqueue.Task, reply Reply) error {
	switch {
	case reply.Err == nil:
		return nil
	case ctx.Err() != nil: // no caller waits for the reply any more
		return ctx.Err()
	case reply.Status == statusGone:
		return o.disableGone(ctx, r, reply.Err)
	case reply.isThrottled() && age(t) < maxThrottled:
		return r.postpone(reply.Err)
	}
	return reply.Err
}

// disableGoneEndpoint disables an endpoint that has replied with status 410 Gone.
func (o *Dispatcher) disableGone(ctx context.Context, r *endpointState, cause error) error {
	if err := o.disable(ctx, r, cause.Error()); err != nil {
		return fmt.Errorf("%w, and it could not be disabled: %w", cause, err)
	}
	o.Logger.Warn("webhook endpoint replied 410 Gone and was disabled; see `server webhooks`", "game", r.Game, "endpoint", r.Name, "error", cause)
	return taskqueue.Permanent(cause)
}

// isThrottled returns true if the endpoint asks for a pause.
func (r Reply) isThrottled() bool {
	return r.RetryAfter > 0 || r.Status == statusTooManyRequests || r.Status == statusUnavailable
}

func age(t *taskqueue.Task) time.Duration { return time.Since(time.UnixMilli(t.CreatedAt)) }
