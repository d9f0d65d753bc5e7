package ws

import (
	"context"

	"laststand/internal/protocol"
)

// A handleFunc handles a request. If it returns an error, that is the reply. It runs once
// at a time for each session.
type handleFunc func(r *requests, ctx context.Context, req request) (outcome, error)

// outcome is the result of a request.
type outcome struct {
	replyType  string // "" if the handler has replied itself
	reply      any
	afterReply func() // to run after the reply or the error; nil for nothing
}

// handlers holds the handler of each message type that the protocol allows after a hello,
// and how many tokens of the session's bucket a message takes. Requests that use more than
// one Redis key or notify other players cost more.
var handlers = map[string]struct {
	cost   int
	handle handleFunc
}{
	protocol.TypePing:         {1, decode((*requests).onPing)},
	protocol.TypeDuelJoin:     {2, decode((*requests).onDuelJoin)},
	protocol.TypeDuelLeave:    {1, decode((*requests).onDuelLeave)},
	protocol.TypeAnswer:       {1, (*requests).onAnswer},
	protocol.TypeMatchSync:    {2, (*requests).onMatchSync},
	protocol.TypeMatchLeave:   {1, decode((*requests).onMatchLeave)},
	protocol.TypeArenaJoin:    {3, decode((*requests).onArenaJoin)},
	protocol.TypeArenaLeave:   {1, arenaHandler(protocol.TypeArenaLeft, withArenaID(Arenas.Leave))},
	protocol.TypeArenaStart:   {1, arenaHandler(protocol.TypeArenaOK, withArenaID(Arenas.Start))},
	protocol.TypeArenaClose:   {1, arenaHandler(protocol.TypeArenaOK, withArenaID(Arenas.Close))},
	protocol.TypeArenaLock:    {1, arenaHandler(protocol.TypeArenaOK, withArenaID(Arenas.Lock))},
	protocol.TypeArenaNext:    {1, arenaHandler(protocol.TypeArenaOK, Arenas.Next)},
	protocol.TypeArenaKick:    {1, arenaHandler(protocol.TypeArenaOK, Arenas.Kick)},
	protocol.TypeArenaExtend:  {3, decode((*requests).onArenaExtend)},
	protocol.TypeBoardWatch:   {3, decode((*requests).onBoardWatch)},
	protocol.TypeBoardUnwatch: {1, decode((*requests).onBoardUnwatch)},
	protocol.TypeHello: {1, func(*requests, context.Context, request) (outcome, error) {
		return outcome{}, protocol.Errorf(protocol.CodeBadRequest, "this connection has already sent a hello")
	}},
}

// typeLabel returns a message type as a metric label: "unknown" if it is not in handlers.
func typeLabel(messageType string) string {
	if _, ok := handlers[messageType]; ok {
		return messageType
	}
	return "unknown"
}

// decode makes a handler from a function that takes the data of its requests.
func decode[D any](handle func(r *requests, ctx context.Context, data D) (outcome, error)) handleFunc {
	return func(r *requests, ctx context.Context, req request) (outcome, error) {
		var data D
		if err := req.Decode(&data); err != nil {
			return outcome{}, err
		}
		return handle(r, ctx, data)
	}
}

// arenaHandler makes a handler from a method of Arenas. The reply is an empty message.
func arenaHandler[D any](replyType string, call func(arenas Arenas, ctx context.Context, game, caller string, data D) error) handleFunc {
	return decode(func(r *requests, ctx context.Context, data D) (outcome, error) {
		return outcome{replyType: replyType, reply: protocol.Empty{}}, call(r.services.Arenas, ctx, r.game, r.player, data)
	})
}

// withArenaID makes a call of arenaHandler from one that takes only the arena's id.
func withArenaID(call func(arenas Arenas, ctx context.Context, game, caller, arenaID string) error) func(Arenas, context.Context, string, string, protocol.ArenaRef) error {
	return func(arenas Arenas, ctx context.Context, game, caller string, ref protocol.ArenaRef) error {
		return call(arenas, ctx, game, caller, ref.ArenaID)
	}
}

// handle handles one request; err is the error of protocol.ReadRequest. The caller must
// run the returned function after the reply, unless it is nil.
func (r *requests) handle(ctx context.Context, req request, err error) (afterReply func()) {
	handler, isKnown := handlers[req.Type]
	if refusal := r.limit(handler.cost); refusal != nil {
		err = refusal
	}
	if err == nil && req.Type != protocol.TypePing {
		r.lastRequest.Store(req.receivedAt)
	}
	var result outcome
	switch {
	case err != nil:
	case isKnown:
		result, err = handler.handle(r, ctx, req)
	default:
		err = protocol.Errorf(protocol.CodeUnknownType, "unknown message type")
	}
	switch {
	case err != nil:
		r.replyError(req, err)
	case result.replyType != "":
		r.reply(req, result.replyType, result.reply)
	}
	return result.afterReply
}
