package ws

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// requests handles the requests of a session, from its hello on, one after the other. The
// read loop owns it.
type requests struct {
	*presence

	limiter     messageLimiter
	watches     boardWatches
	storeFailed bool // the request under way could not reach a store
	lastSlow    bool // the last request failed at a store after more than a third of its time limit
}

// run handles one request with handle, which returns a function to run after the reply, or
// nil. Pushes wait until the reply is queued. This goroutine usually writes the reply itself,
// since starting another one takes longer.
func (r *requests) run(req request, handle func(context.Context) func()) {
	startedAt, timeout, greeted := time.Now(), r.timeout(), r.greeted.Load()
	ctx, cancel := r.newContext()
	defer cancel()
	var afterReply func()
	r.storeFailed = false
	r.outbox.hold()
	if !r.runRecovered(func() { afterReply = handle(ctx) }, req.label) {
		r.replyInternalError(req, greeted)
	}
	if r.outbox.release() {
		r.writeQueued()
	}
	if afterReply != nil {
		r.runRecovered(afterReply, req.label)
	}
	r.lastSlow = r.storeFailed && time.Since(startedAt) > timeout/3
}

// newContext returns a context that ends with the time limit of a request. The context of
// a hello also ends when a drain has closed all sessions.
func (r *requests) newContext() (context.Context, context.CancelFunc) {
	if !r.greeted.Load() {
		return context.WithTimeout(r.services.hellos, admissionWait+r.timeout())
	}
	return context.WithTimeout(context.Background(), r.timeout())
}

// timeout returns the time limit of a request. If the last request waited for a store and
// failed, it is shorter, so that a queue of requests fails soon.
func (r *requests) timeout() time.Duration {
	if r.lastSlow {
		return r.services.callTimeout / slowCallDivisor
	}
	return r.services.callTimeout
}

// runRecovered runs a function that handles a message, and returns false if it panicked.
// It counts and logs the panic.
func (r *requests) runRecovered(function func(), label string) (completed bool) {
	defer func() {
		if cause := recover(); cause != nil {
			r.services.metrics.panics.Inc()
			r.services.Logger.Error("message handler panicked",
				"type", label, "player", r.player, "panic", cause, "stack", string(debug.Stack()))
		}
	}()
	function()
	return true
}

// replyInternalError replies to a request that panicked. Before the hello it closes the
// session instead.
func (r *requests) replyInternalError(req request, greeted bool) {
	if !greeted {
		r.close(protocol.CloseOverloaded, retryReason)
		return
	}
	r.replyError(req, protocol.Errorf(protocol.CodeInternal, "internal error; the server has logged it"))
}

// takeTokens takes tokens from the session's bucket, and returns false if the bucket has
// too few. At the third refusal within refusalWindow it also closes the session.
func (r *requests) takeTokens(cost int) bool {
	now := timer.SinceStart()
	if r.limiter.take(now, r.services.messages, cost) || !r.services.Limits.MessageCap.Refuse() {
		return true
	}
	if r.limiter.recordRefusal(now) {
		r.closeAfterQueued(protocol.CloseTooFast, "too many messages; reconnect after a minute")
	}
	return false
}

// limit takes the tokens that a request costs from the session's bucket, or returns the
// error to reply. A request costs at least one token, and at most a full bucket:
// otherwise the bucket would never have enough tokens for it.
func (r *requests) limit(cost int) error {
	cost = min(max(cost, 1), r.services.messages.Burst)
	if r.takeTokens(cost) {
		return nil
	}
	wait := int64(1000 * float64(cost) / r.services.MessagesPerSecond)
	return protocol.RetryAfter(protocol.CodeRateLimited, max(wait, 1), "too many messages; at most %g a second", r.services.MessagesPerSecond)
}

// replyError sends an error reply. An error that toProtocolError does not know is a
// failure of the server: it is logged, and the client gets the code "unavailable" and a
// time to retry.
func (r *requests) replyError(req request, err error) {
	refusal := toProtocolError(err)
	if refusal == nil {
		r.storeFailed = true
		r.services.Logger.Warn("message failed", "type", req.label, "player", r.player, "error", err)
		refusal = protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "a store of the server is unreachable; try again")
	}
	r.services.metrics.errors.WithLabelValues(string(refusal.Code)).Inc()
	r.outbox.reply(protocol.EncodeReply(req.ID, protocol.TypeError, refusal))
}

// toProtocolError returns the error reply if err refuses a request by the rules of the
// game or a limit. It returns nil for any other error.
func toProtocolError(err error) *protocol.Error {
	var refusal *protocol.Error
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.Is(err, match.ErrAbandoned):
		return protocol.Errorf(protocol.CodeQuestionClosed, "the match was abandoned")
	case errors.Is(err, match.ErrNotFound):
		return protocol.Errorf(protocol.CodeNotInMatch, "you have no seat in this match, or the match has not begun or is long over")
	case errors.Is(err, match.ErrOverloaded):
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "server is overloaded; try again in some seconds")
	}
	return nil
}
