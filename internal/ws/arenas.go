package ws

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// Arenas handles the requests for matches with many players; *arena.Service implements
// it. A refusal is a *protocol.Error. Join also returns a function, never nil, that the
// caller runs after the reply.
type Arenas interface {
	Join(ctx context.Context, req arena.JoinRequest) (protocol.ArenaJoined, func(), error)
	Leave(ctx context.Context, game, player, arenaID string) error
	Start(ctx context.Context, game, caller, arenaID string) error
	Close(ctx context.Context, game, caller, arenaID string) error
	Lock(ctx context.Context, game, caller, arenaID string) error
	Next(ctx context.Context, game, caller string, next protocol.ArenaNext) error
	Kick(ctx context.Context, game, caller string, kick protocol.ArenaKick) error
}

func (se *session) onArenaJoin(ctx context.Context, req request) (func(), error) {
	var join protocol.ArenaJoin
	if err := req.Decode(&join); err != nil {
		return doNothing, err
	}
	if se.server.draining.Load() {
		return doNothing, drainingError()
	}
	if join.As == "" || join.As == string(match.PlayerRole) {
		if err := se.server.Limits.checkJoin(overload.ObjectKey(se.game, se.player), se.addressKey()); err != nil {
			return doNothing, err
		}
	}
	if err := se.checkArenaLoad(join.As); err != nil {
		return doNothing, err
	}
	var joined protocol.ArenaJoined
	afterReply := doNothing
	attempt := overload.Attempt{Address: se.addressKey(), Player: overload.ObjectKey(se.game, se.player), Secret: arena.CodeKey(se.game, join.Code)}
	err := se.server.Limits.CodeAttempts.Try(ctx, attempt, func() (err error) {
		joined, afterReply, err = se.server.Arenas.Join(ctx, arena.JoinRequest{
			Game: se.game, Player: se.player, Role: se.claims.Role, ArenaJoin: join,
		})
		return err
	})
	if err != nil {
		return afterReply, err
	}
	se.reply(req, protocol.TypeArenaJoined, joined)
	if joined.As != string(match.PlayerRole) {
		return afterReply, nil
	}
	return se.countMatch(afterReply), nil
}

// checkArenaLoad rejects a join while the node is overloaded. Under rising load it
// rejects spectators first, then players too, and never a host. as is the requested role.
func (se *session) checkArenaLoad(as string) error {
	switch as {
	case string(match.HostRole):
		return nil
	case string(match.SpectatorRole):
		return se.server.LoadShedder.Check(overload.Watching)
	}
	return se.server.LoadShedder.Check(overload.Joining)
}

// arenaHandler makes the handler of a request whose only data is an arena's id. The
// handler runs call and replies with an empty message of type replyType.
func arenaHandler(replyType string, call func(arenas Arenas, ctx context.Context, game, caller, arenaID string) error) handler {
	return func(se *session, ctx context.Context, r request) (func(), error) {
		var arenaRef protocol.ArenaRef
		if err := r.Decode(&arenaRef); err != nil {
			return doNothing, err
		}
		if err := call(se.server.Arenas, ctx, se.game, se.player, arenaRef.ArenaID); err != nil {
			return doNothing, err
		}
		se.reply(r, replyType, protocol.Empty{})
		return doNothing, nil
	}
}

func (se *session) onArenaNext(ctx context.Context, req request) (func(), error) {
	var next protocol.ArenaNext
	if err := req.Decode(&next); err != nil {
		return doNothing, err
	}
	if err := se.server.Arenas.Next(ctx, se.game, se.player, next); err != nil {
		return doNothing, err
	}
	se.reply(req, protocol.TypeArenaOK, protocol.Empty{})
	return doNothing, nil
}

func (se *session) onArenaKick(ctx context.Context, req request) (func(), error) {
	var kick protocol.ArenaKick
	if err := req.Decode(&kick); err != nil {
		return doNothing, err
	}
	if err := se.server.Arenas.Kick(ctx, se.game, se.player, kick); err != nil {
		return doNothing, err
	}
	se.reply(req, protocol.TypeArenaOK, protocol.Empty{})
	return doNothing, nil
}
