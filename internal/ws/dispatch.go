package ws

import (
	"context"
	"errors"
	"strconv"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// nothing is what most requests leave to be done after their reply.
func nothing() {}

// A handler replies itself or gives the error to be replied; what it gives
// beside is done after its reply.
type handler func(*session, context.Context, request) (func(), error)

// handlers are the requests of the contract that follow a hello.
var handlers = map[string]handler{
	protocol.TypePing:         (*session).onPing,
	protocol.TypeDuelJoin:     (*session).onDuelJoin,
	protocol.TypeDuelLeave:    (*session).onDuelLeave,
	protocol.TypeAnswer:       (*session).onAnswer,
	protocol.TypeMatchSync:    (*session).onMatchSync,
	protocol.TypeMatchLeave:   (*session).onMatchLeave,
	protocol.TypeArenaJoin:    (*session).onArenaJoin,
	protocol.TypeArenaLeave:   ofArena(protocol.TypeArenaLeft, Arenas.Leave),
	protocol.TypeArenaStart:   ofArena(protocol.TypeArenaOK, Arenas.Start),
	protocol.TypeArenaClose:   ofArena(protocol.TypeArenaOK, Arenas.Close),
	protocol.TypeArenaLock:    ofArena(protocol.TypeArenaOK, Arenas.Lock),
	protocol.TypeArenaNext:    (*session).onArenaNext,
	protocol.TypeArenaKick:    (*session).onArenaKick,
	protocol.TypeBoardWatch:   (*session).onBoardWatch,
	protocol.TypeBoardUnwatch: (*session).onBoardUnwatch,
	protocol.TypeHello: func(*session, context.Context, request) (func(), error) {
		return nothing, protocol.Errorf(protocol.CodeBadRequest, "hello was said already")
	},
}

// request is one request and the stamp on its frame.
type request struct {
	protocol.Request
	at int64 // cluster time
}

// answer answers one request, which was read with err, and gives what is to be
// done after its reply.
func (se *session) answer(ctx context.Context, r request, err error) func() {
	if errors.Is(err, protocol.ErrMalformed) {
		se.close(protocol.CloseProtocol, "a frame is a JSON object with a text `type`")
		return nothing
	}
	se.server.metrics.messages.WithLabelValues(typeLabel(r.Type)).Inc()
	if !se.greeted.Load() {
		return se.onHello(ctx, r, err)
	}
	if limited := se.tooFast(r); limited != nil {
		se.refuse(r.Request, limited)
		return nothing
	}
	if err != nil {
		se.refuse(r.Request, err)
		return nothing
	}
	if r.Type != protocol.TypePing {
		se.asked.Store(r.at)
	}
	handle, ok := handlers[r.Type]
	if !ok {
		se.refuse(r.Request, protocol.Errorf(protocol.CodeUnknownType, "there is no message of this type"))
		return nothing
	}
	then, err := handle(se, ctx, r)
	if err != nil {
		se.refuse(r.Request, err)
	}
	return then
}

// affords takes a cost from the session's bucket. The third time within 10 s that it
// is not there closes the session.
func (se *session) affords(cost int) bool {
	now := sinceStart()
	if se.pace.take(now, se.server.PerSecond, cost) || !se.server.Limits.Messages.Stands() {
		return true
	}
	if se.pace.fault(now) {
		se.closeAfter(protocol.CloseTooFast, "too many messages; reconnect after a minute")
	}
	return false
}

// tooFast takes what a message costs from the session's bucket.
func (se *session) tooFast(r request) error {
	cost := se.costOf(r.Type)
	if se.affords(cost) {
		return nil
	}
	wait := int64(1000 * float64(cost) / se.server.PerSecond)
	return protocol.RetryAfter(protocol.CodeRateLimited, max(wait, 1), "too many messages; at most %g a second", se.server.PerSecond)
}

func (se *session) reply(r request, kind string, data any) {
	se.out.reply(protocol.EncodeReply(r.ID, kind, data))
}

// refuse replies an error. What is no refusal of the game's is a fault of ours:
// the client is told to try again, the log is told why.
func (se *session) refuse(r protocol.Request, err error) {
	refused := refusal(err)
	if refused == nil {
		se.failed = true
		se.server.Logger.Warn("message failed", "type", typeLabel(r.Type), "player", se.player, "error", err)
		refused = protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "a part of the server is out of reach; try again")
	}
	se.server.metrics.refused.WithLabelValues(string(refused.Code)).Inc()
	se.out.reply(protocol.EncodeReply(r.ID, protocol.TypeError, refused))
}

// refusal is the table from the game's refusals to what a client is told; nil
// for any other error.
func refusal(err error) *protocol.Error {
	var refused *protocol.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, match.ErrAbandoned):
		return protocol.Errorf(protocol.CodeQuestionClosed, "the match was abandoned")
	case errors.Is(err, match.ErrNotFound):
		return protocol.Errorf(protocol.CodeNotInMatch, "you have no place in this match, or it has not begun, or it is long over")
	case errors.Is(err, match.ErrOverloaded):
		return protocol.RetryAfter(protocol.CodeOverloaded, retryMS, "too much is waiting; try again in some seconds")
	}
	return nil
}

// typeLabel is a message's type as a metric's label: from a closed set.
func typeLabel(kind string) string {
	if _, ok := handlers[kind]; ok {
		return kind
	}
	return "unknown"
}

func closeLabel(code int) string { return strconv.Itoa(code) }
