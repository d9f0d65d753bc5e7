package hooks

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
	rollout = 10 * time.Minute
	// mostThrottled is how long a delivery is put off by an endpoint that is busy;
	// then its tries count all the same.
	mostThrottled = 3 * 24 * time.Hour

	soon = time.Second
)

var errUnknown = errors.New("no endpoint of the configuration is meant; `server tasks discard` if it was taken out")

// deliver makes a try.
func (o *Office) deliver(ctx context.Context, t taskqueue.Task) error {
	r := o.Book.topics[t.Topic]
	if r == nil && age(&t) < rollout {
		return taskqueue.Postpone(errUnknown, time.Minute)
	}
	if r == nil {
		return taskqueue.Permanent(errUnknown)
	}
	why, err := o.whyDisabled(ctx, r)
	if err != nil {
		return taskqueue.Postpone(err, soon)
	}
	if why != "" {
		return taskqueue.Permanent(fmt.Errorf("the endpoint is disabled: %s; `server webhooks enable` it and requeue the task", why))
	}
	if err := r.enter(ctx); err != nil {
		return err
	}
	return o.judge(ctx, r, &t, o.try(ctx, r, Message{ID: t.Key, Body: t.Payload}))
}

// whyDisabled says why nothing is sent to an endpoint. What would be the death of
// a delivery is asked for anew: another node may have enabled it meanwhile.
func (o *Office) whyDisabled(ctx context.Context, r *receiver) (string, error) {
	if o.known.Load() && r.disabled() == "" {
		return "", nil
	}
	err := o.learn(ctx)
	return r.disabled(), err
}

// try posts a message with a hand of the endpoint's.
func (o *Office) try(ctx context.Context, r *receiver, m Message) Reply {
	defer r.leave(time.Now())
	reply := o.send(ctx, r, m)
	switch {
	case reply.Err == nil:
		r.pleased()
	case reply.throttles():
		r.leaveAlone(reply.After)
	}
	return reply
}

func (o *Office) send(ctx context.Context, r *receiver, m Message) Reply {
	start := time.Now()
	reply := o.Poster.Post(ctx, r.Endpoint, m)
	o.Book.metrics.sent(r, reply.Status, time.Since(start))
	if reply.Err != nil && ctx.Err() == nil {
		r.failed(reply.Err)
	}
	return reply
}

// judge says what becomes of the delivery.
func (o *Office) judge(ctx context.Context, r *receiver, t *taskqueue.Task, reply Reply) error {
	switch {
	case reply.Err == nil:
		return nil
	case ctx.Err() != nil: // nobody waits for it any more
		return ctx.Err()
	case reply.Status == statusGone:
		return o.gone(ctx, r, reply.Err)
	case reply.throttles() && age(t) < mostThrottled:
		return r.aside(reply.Err)
	}
	return reply.Err
}

// gone disables an endpoint that wants nothing any more.
func (o *Office) gone(ctx context.Context, r *receiver, why error) error {
	if err := o.disable(ctx, r, why.Error()); err != nil {
		return fmt.Errorf("%w, and it could not be disabled: %w", why, err)
	}
	o.Logger.Warn("an endpoint of webhooks wants no more and is disabled; see `server webhooks`", "game", r.Game, "endpoint", r.Name, "error", why)
	return taskqueue.Permanent(why)
}

// throttles says whether the endpoint wants to be left alone for a while.
func (r Reply) throttles() bool {
	return r.After > 0 || r.Status == statusTooManyRequests || r.Status == statusUnavailable
}

func age(t *taskqueue.Task) time.Duration { return time.Since(time.UnixMilli(t.CreatedAt)) }
