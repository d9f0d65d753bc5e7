package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/leaderboard"
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
	maxThrottledAge = 3 * 24 * time.Hour

	stateRetryDelay = time.Second // after a failed read of the endpoint's state
)

var errUnknownEndpoint = errors.New("the configuration has no such endpoint; if it was removed, use `server tasks discard`")

// deliver handles a delivery task: it makes one attempt to send the message.
func (d *Dispatcher) deliver(ctx context.Context, task taskqueue.Task) error {
	endpoint := d.Registry.byTopic[task.Topic]
	if endpoint == nil && taskAge(&task) < configRollout {
		return taskqueue.Postpone(errUnknownEndpoint, time.Minute)
	}
	if endpoint == nil {
		return taskqueue.Permanent(errUnknownEndpoint)
	}
	reason, err := d.disabledReason(ctx, endpoint)
	if err != nil {
		return taskqueue.Postpone(err, stateRetryDelay)
	}
	if reason != "" {
		return taskqueue.Permanent(fmt.Errorf("the endpoint is disabled: %s; `server webhooks enable` it and requeue the task", reason))
	}
	if err := endpoint.acquire(ctx); err != nil {
		return err
	}
	return d.deliveryResult(ctx, endpoint, &task, d.attemptDelivery(ctx, endpoint, Message{ID: task.Key, Body: task.Payload}))
}

// attemptDelivery posts a message and releases the endpoint's slot, which the caller
// has acquired.
func (d *Dispatcher) attemptDelivery(ctx context.Context, endpoint *endpointState, message Message) (reply Reply) {
	startedAt := time.Now()
	defer func() { endpoint.release(startedAt, reply) }()
	return d.postMessage(ctx, endpoint, message)
}

// disabledReason returns why an endpoint is disabled, or "" if it is enabled. A reason
// makes the delivery dead. So before it returns a reason, it reads the states again,
// because another node may have enabled the endpoint.
func (d *Dispatcher) disabledReason(ctx context.Context, endpoint *endpointState) (string, error) {
	if d.isStateKnown.Load() && endpoint.disabledReason() == "" {
		return "", nil
	}
	err := d.refreshStates(ctx)
	return endpoint.disabledReason(), err
}

// deliveryResult returns the result of a delivery task after a reply: nil if the
// delivery is done, or an error that retries, postpones or ends it.
func (d *Dispatcher) deliveryResult(ctx context.Context, endpoint *endpointState, task *taskqueue.Task, reply Reply) error {
	switch {
	case reply.Err == nil:
		return nil
	case ctx.Err() != nil: // no caller waits for the reply any more
		return ctx.Err()
	case reply.Status == statusGone:
		return d.disableGoneEndpoint(ctx, endpoint, reply.Err)
	case reply.isThrottled() && taskAge(task) < maxThrottledAge:
		return endpoint.postpone(reply.Err)
	}
	return reply.Err
}

func (d *Dispatcher) disableGoneEndpoint(ctx context.Context, endpoint *endpointState, cause error) error {
	if err := d.disableEndpoint(ctx, endpoint, cause.Error()); err != nil {
		return fmt.Errorf("%w, and it could not be disabled: %w", cause, err)
	}
	d.Logger.Warn("webhook endpoint replied 410 Gone and was disabled; see `server webhooks`", "game", endpoint.Game, "endpoint", endpoint.Name, "error", cause)
	return taskqueue.Permanent(cause)
}

func (r Reply) isThrottled() bool {
	return r.RetryAfter > 0 || r.Status == statusTooManyRequests || r.Status == statusUnavailable
}

func taskAge(task *taskqueue.Task) time.Duration { return time.Since(time.UnixMilli(task.CreatedAt)) }

// errNoSubscriber means that another node enqueued a sealed day for an endpoint that
// this node's configuration does not have.
var errNoSubscriber = errors.New("no endpoint of this node's configuration subscribes to day.sealed")

// enqueueSealedDay enqueues the deliveries of a sealed day with its current top
// lists. If it runs again after a correction, the deliveries of the first run stay
// unchanged.
func (d *Dispatcher) enqueueSealedDay(ctx context.Context, task taskqueue.Task) error {
	var payload sealTask
	if err := json.Unmarshal(task.Payload, &payload); err != nil {
		return taskqueue.Permanent(fmt.Errorf("the payload is not of the form {\"at\":epoch ms}: %w", err))
	}
	switch isSubscribed := d.Registry.hasSubscriber(DaySealed, task.Game); {
	case !isSubscribed && taskAge(&task) < configRollout:
		return taskqueue.Postpone(errNoSubscriber, time.Minute)
	case !isSubscribed:
		return nil
	}
	if err := d.refreshStates(ctx); err != nil { // another node may have enabled an endpoint
		return err
	}
	day := dayData{Game: task.Game, Date: task.Key}
	for _, kind := range leaderboard.Kinds() {
		top, total, err := d.TopLists.Top(ctx, task.Game, task.Key, kind, maxListEntries)
		if err != nil {
			return fmt.Errorf("top list of %s: %w", kind, err)
		}
		day.Boards = append(day.Boards, dayLeaderboard{kind, leaderboard.ByValue, total, top})
	}
	tasks := d.Registry.deliveries(event{eventType: DaySealed, game: task.Game, subject: task.Key, occurredAt: payload.At, data: day.truncated})
	if len(tasks) == 0 {
		return nil
	}
	_, err := d.Queue.Enqueue(ctx, tasks)
	return err
}
