package ws

import (
	"context"
	"errors"
	"strconv"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// doNothing is the function that most handlers return to run after the reply.
func doNothing() {}

// handler handles one request. It either sends the reply itself, or returns an error for
// the error reply. The caller runs the returned function after the reply; it is never
// nil.
type handler func(*session, context.Context, request) (func(), error)

// handlers holds the handler of each message type that the protocol allows after a hello.
var handlers = map[string]handler{
	protocol.TypePing:         (*session).onPing,
	protocol.TypeDuelJoin:     (*session).onDuelJoin,
	protocol.TypeDuelLeave:    (*session).onDuelLeave,
	protocol.TypeAnswer:       (*session).onAnswer,
	protocol.TypeMatchSync:    (*session).onMatchSync,
	protocol.TypeMatchLeave:   (*session).onMatchLeave,
	protocol.TypeArenaJoin:    (*session).onArenaJoin,
	protocol.TypeArenaLeave:   arenaHandler(protocol.TypeArenaLeft, Arenas.Leave),
	protocol.TypeArenaStart:   arenaHandler(protocol.TypeArenaOK, Arenas.Start),
	protocol.TypeArenaClose:   arenaHandler(protocol.TypeArenaOK, Arenas.Close),
	protocol.TypeArenaLock:    arenaHandler(protocol.TypeArenaOK, Arenas.Lock),
	protocol.TypeArenaNext:    (*session).onArenaNext,
	protocol.TypeArenaKick:    (*session).onArenaKick,
	protocol.TypeBoardWatch:   (*session).onBoardWatch,
	protocol.TypeBoardUnwatch: (*session).onBoardUnwatch,
	protocol.TypeHello: func(*session, context.Context, request) (func(), error) {
		return doNothing, protocol.Errorf(protocol.CodeBadRequest, "this connection has already sent a hello")
	},
}

// request is one request and the time when its frame arrived.
type request struct {
	protocol.Request
	receivedAt int64 // cluster time, ms
}

// dispatch handles one request; err is the error of protocol.ReadRequest. The caller must
// run the returned function after the reply.
func (se *session) dispatch(ctx context.Context, req request, err error) func() {
	if errors.Is(err, protocol.ErrMalformed) {
		se.close(protocol.CloseProtocol, "a frame must be a JSON object with a text `type`")
		return doNothing
	}
	se.server.metrics.messages.WithLabelValues(typeLabel(req.Type)).Inc()
	if !se.greeted.Load() {
		return se.onHello(ctx, req, err)
	}
	if refusal := se.limitRequest(req); refusal != nil {
		se.replyError(req.Request, refusal)
		return doNothing
	}
	if err != nil {
		se.replyError(req.Request, err)
		return doNothing
	}
	if req.Type != protocol.TypePing {
		se.lastRequest.Store(req.receivedAt)
	}
	handle, ok := handlers[req.Type]
	if !ok {
		se.replyError(req.Request, protocol.Errorf(protocol.CodeUnknownType, "unknown message type"))
		return doNothing
	}
	afterReply, err := handle(se, ctx, req)
	if err != nil {
		se.replyError(req.Request, err)
	}
	return afterReply
}

// takeTokens takes tokens from the session's bucket, and returns false if the bucket has
// too few. At the third refusal within refusalWindow it also closes the session.
func (se *session) takeTokens(cost int) bool {
	now := sinceStart()
	if se.limiter.tryTake(now, se.server.MessagesPerSecond, cost) || !se.server.Limits.MessageCap.Refuse() {
		return true
	}
	if se.limiter.recordRefusal(now) {
		se.closeAfterQueued(protocol.CloseTooFast, "too many messages; reconnect after a minute")
	}
	return false
}

// limitRequest takes the tokens that a request costs from the session's bucket, or
// returns the error to reply.
func (se *session) limitRequest(req request) error {
	cost := se.tokenCost(req.Type)
	if se.takeTokens(cost) {
		return nil
	}
	wait := int64(1000 * float64(cost) / se.server.MessagesPerSecond)
	return protocol.RetryAfter(protocol.CodeRateLimited, max(wait, 1), "too many messages; at most %g a second", se.server.MessagesPerSecond)
}

func (se *session) reply(req request, messageType string, data any) {
	se.outbox.reply(protocol.EncodeReply(req.ID, messageType, data))
}

// replyError sends an error reply. An error that toProtocolError does not know is a
// failure of the server: it is logged, and the client gets the code "unavailable" and a
// time to retry.
func (se *session) replyError(r protocol.Request, err error) {
	refusal := toProtocolError(err)
	if refusal == nil {
		se.storeFailed = true
		se.server.Logger.Warn("message failed", "type", typeLabel(r.Type), "player", se.player, "error", err)
		refusal = protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "a store of the server is unreachable; try again")
	}
	se.server.metrics.errors.WithLabelValues(string(refusal.Code)).Inc()
	se.outbox.reply(protocol.EncodeReply(r.ID, protocol.TypeError, refusal))
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

func closeLabel(code int) string { return strconv.Itoa(code) }
