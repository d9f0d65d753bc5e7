package ws

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// requests handles the requests of a session after its hello, one after the other. The
// read loop owns it.
type requests struct {
	*presence

	limiter     messageLimiter
	watches     boardWatches
	storeFailed bool // the request under way could not reach a store
	lastSlow    bool // the last request failed at a store after more than a third of its time limit
}

// request is one request and the time when its frame arrived.
type request struct {
	protocol.Request
	receivedAt int64 // cluster time, ms
}

// doNothing is the function that most handlers return to run after the reply.
func doNothing() {}

// handlers holds the handler of each message type that the protocol allows after a hello,
// and how many tokens of the session's bucket a message takes. Requests that use more than
// one Redis key or notify other players cost more. A handler either sends the reply
// itself, or returns an error for the error reply. The caller runs the returned function
// after the reply; it is never nil.
var handlers = map[string]struct {
	cost   int
	handle func(*requests, context.Context, request) (func(), error)
}{
	protocol.TypePing:         {1, (*requests).onPing},
	protocol.TypeDuelJoin:     {2, (*requests).onDuelJoin},
	protocol.TypeDuelLeave:    {1, (*requests).onDuelLeave},
	protocol.TypeAnswer:       {1, (*requests).onAnswer},
	protocol.TypeMatchSync:    {2, (*requests).onMatchSync},
	protocol.TypeMatchLeave:   {1, (*requests).onMatchLeave},
	protocol.TypeArenaJoin:    {3, (*requests).onArenaJoin},
	protocol.TypeArenaLeave:   {1, arenaHandler(protocol.TypeArenaLeft, Arenas.Leave)},
	protocol.TypeArenaStart:   {1, arenaHandler(protocol.TypeArenaOK, Arenas.Start)},
	protocol.TypeArenaClose:   {1, arenaHandler(protocol.TypeArenaOK, Arenas.Close)},
	protocol.TypeArenaLock:    {1, arenaHandler(protocol.TypeArenaOK, Arenas.Lock)},
	protocol.TypeArenaNext:    {1, (*requests).onArenaNext},
	protocol.TypeArenaKick:    {1, (*requests).onArenaKick},
	protocol.TypeBoardWatch:   {3, (*requests).onBoardWatch},
	protocol.TypeBoardUnwatch: {1, (*requests).onBoardUnwatch},
	protocol.TypeHello: {1, func(*requests, context.Context, request) (func(), error) {
		return doNothing, protocol.Errorf(protocol.CodeBadRequest, "this connection has already sent a hello")
	}},
}

// run handles one request with handle, which returns a function to run after the reply.
// Pushes wait until the reply is queued. This goroutine usually writes the reply itself,
// since starting another one takes longer.
func (r *requests) run(req request, handle func(context.Context) func()) {
	startedAt, timeout, greeted := time.Now(), r.timeout(), r.greeted.Load()
	ctx, cancel := r.newContext()
	defer cancel()
	afterReply := doNothing
	r.storeFailed = false
	r.outbox.hold()
	if !r.runRecovered(func() { afterReply = handle(ctx) }, req.Type) {
		r.replyInternalError(req, greeted)
	}
	if r.outbox.release() {
		r.writeQueued()
	}
	r.runRecovered(afterReply, req.Type)
	r.lastSlow = r.storeFailed && time.Since(startedAt) > timeout/3
}

// newContext returns a context that ends with the time limit of a request.
func (r *requests) newContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), r.timeout())
}

// timeout returns the time limit of a request. If the last request waited for a store and
// failed, it is shorter, so that a queue of requests fails soon.
func (r *requests) timeout() time.Duration {
	if r.lastSlow {
		return r.server.callTimeout / slowCallDivisor
	}
	return r.server.callTimeout
}

// runRecovered runs a function that handles a message, and returns false if it panicked.
// It counts and logs the panic.
func (r *requests) runRecovered(function func(), messageType string) (completed bool) {
	defer func() {
		if cause := recover(); cause != nil {
			r.server.metrics.panics.Inc()
			r.server.Logger.Error("message handler panicked",
				"type", typeLabel(messageType), "player", r.player, "panic", cause, "stack", string(debug.Stack()))
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
	r.replyError(req.Request, protocol.Errorf(protocol.CodeInternal, "internal error; the server has logged it"))
}

// handle handles one request; err is the error of protocol.ReadRequest. The caller must
// run the returned function after the reply.
func (r *requests) handle(ctx context.Context, req request, err error) func() {
	handler, isKnown := handlers[req.Type]
	if refusal := r.limit(handler.cost); refusal != nil {
		r.replyError(req.Request, refusal)
		return doNothing
	}
	if err != nil {
		r.replyError(req.Request, err)
		return doNothing
	}
	if req.Type != protocol.TypePing {
		r.lastRequest.Store(req.receivedAt)
	}
	if !isKnown {
		r.replyError(req.Request, protocol.Errorf(protocol.CodeUnknownType, "unknown message type"))
		return doNothing
	}
	afterReply, err := handler.handle(r, ctx, req)
	if err != nil {
		r.replyError(req.Request, err)
	}
	return afterReply
}

// takeTokens takes tokens from the session's bucket, and returns false if the bucket has
// too few. At the third refusal within refusalWindow it also closes the session.
func (r *requests) takeTokens(cost int) bool {
	now := sinceStart()
	if r.limiter.tryTake(now, r.server.MessagesPerSecond, cost) || !r.server.Limits.MessageCap.Refuse() {
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
	cost = min(max(cost, 1), int(bucketSize(r.server.MessagesPerSecond)))
	if r.takeTokens(cost) {
		return nil
	}
	wait := int64(1000 * float64(cost) / r.server.MessagesPerSecond)
	return protocol.RetryAfter(protocol.CodeRateLimited, max(wait, 1), "too many messages; at most %g a second", r.server.MessagesPerSecond)
}

// replyError sends an error reply. An error that toProtocolError does not know is a
// failure of the server: it is logged, and the client gets the code "unavailable" and a
// time to retry.
func (r *requests) replyError(req protocol.Request, err error) {
	refusal := toProtocolError(err)
	if refusal == nil {
		r.storeFailed = true
		r.server.Logger.Warn("message failed", "type", typeLabel(req.Type), "player", r.player, "error", err)
		refusal = protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "a store of the server is unreachable; try again")
	}
	r.server.metrics.errors.WithLabelValues(string(refusal.Code)).Inc()
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

// typeLabel returns a message type as a metric label: "unknown" if it is not in handlers.
func typeLabel(messageType string) string {
	if _, ok := handlers[messageType]; ok {
		return messageType
	}
	return "unknown"
}
