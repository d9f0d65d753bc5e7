package ws

import (
	"context"

	"laststand/internal/protocol"
)

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
	protocol.TypeArenaLeave:   {1, arenaHandler(protocol.TypeArenaLeft, withArenaID(Arenas.Leave))},
	protocol.TypeArenaStart:   {1, arenaHandler(protocol.TypeArenaOK, withArenaID(Arenas.Start))},
	protocol.TypeArenaClose:   {1, arenaHandler(protocol.TypeArenaOK, withArenaID(Arenas.Close))},
	protocol.TypeArenaLock:    {1, arenaHandler(protocol.TypeArenaOK, withArenaID(Arenas.Lock))},
	protocol.TypeArenaNext:    {1, arenaHandler(protocol.TypeArenaOK, Arenas.Next)},
	protocol.TypeArenaKick:    {1, arenaHandler(protocol.TypeArenaOK, Arenas.Kick)},
	protocol.TypeArenaExtend:  {3, (*requests).onArenaExtend},
	protocol.TypeBoardWatch:   {3, (*requests).onBoardWatch},
	protocol.TypeBoardUnwatch: {1, (*requests).onBoardUnwatch},
	protocol.TypeHello: {1, func(*requests, context.Context, request) (func(), error) {
		return doNothing, protocol.Errorf(protocol.CodeBadRequest, "this connection has already sent a hello")
	}},
}

// handle handles one request; err is the error of protocol.ReadRequest. The caller must
// run the returned function after the reply.
func (r *requests) handle(ctx context.Context, req request, err error) func() {
	handler, isKnown := handlers[req.Type]
	if refusal := r.limit(handler.cost); refusal != nil {
		r.replyError(req, refusal)
		return doNothing
	}
	if err != nil {
		r.replyError(req, err)
		return doNothing
	}
	if req.Type != protocol.TypePing {
		r.lastRequest.Store(req.receivedAt)
	}
	if !isKnown {
		r.replyError(req, protocol.Errorf(protocol.CodeUnknownType, "unknown message type"))
		return doNothing
	}
	afterReply, err := handler.handle(r, ctx, req)
	if err != nil {
		r.replyError(req, err)
	}
	return afterReply
}

// typeLabel returns a message type as a metric label: "unknown" if it is not in handlers.
func typeLabel(messageType string) string {
	if _, ok := handlers[messageType]; ok {
		return messageType
	}
	return "unknown"
}
