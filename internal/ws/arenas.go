package ws

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/limit"
	"laststand/internal/loadshed"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Arenas handles the requests for matches with many players; *arena.Service implements
// it. A refusal is a *protocol.Error. Join also returns a function, never nil, that the
// caller runs after the reply.
type Arenas interface {
	Join(ctx context.Context, r arena.JoinRequest) (protocol.ArenaJoined, func(), error)
	Leave(ctx context.Context, game, player, arenaID string) error
	Start(ctx context.Context, game, caller, arenaID string) error
	Close(ctx context.Context, game, caller, arenaID string) error
	Lock(ctx context.Context, game, caller, arenaID string) error
	Next(ctx context.Context, game, caller string, n protocol.ArenaNext) error
	Kick(ctx context.Context, game, caller string, k protocol.ArenaKick) error
}

func (se *session) onArenaJoin(ctx context.Context, r request) (func(), error) {
	var j protocol.ArenaJoin
	if err := r.Decode(&j); err != nil {
		return noop, err
	}
	if se.server.draining.Load() {
		return noop, drainingError()
	}
	if j.As == "" || j.As == string(match.AsPlayer) {
		if err := se.server.Limits.checkJoin(limit.Named(se.game, se.player), se.addressKey()); err != nil {
			return noop, err
		}
	}
	if err := se.checkArenaLoad(j.As); err != nil {
		return noop, err
	}
	var joined protocol.ArenaJoined
	then := noop
	attempt := limit.Attempt{Address: se.addressKey(), Player: limit.Named(se.game, se.player), Secret: arena.CodeKey(se.game, j.Code)}
	err := se.server.Limits.CodeAttempts.Try(ctx, attempt, func() (err error) {
		joined, then, err = se.server.Arenas.Join(ctx, arena.JoinRequest{
			Game: se.game, Player: se.player, Role: se.claims.Role, ArenaJoin: j,
		})
		return err
	})
	if err != nil {
		return then, err
	}
	se.reply(r, protocol.TypeArenaJoined, joined)
	if joined.As != string(match.AsPlayer) {
		return then, nil
	}
	return se.countMatchThen(then), nil
}

// checkArenaLoad rejects a join while the node is overloaded. Under rising load it
// rejects spectators first, then players too, and never a host. as is the requested role.
func (se *session) checkArenaLoad(as string) error {
	switch as {
	case string(match.AsHost):
		return nil
	case string(match.AsSpectator):
		return se.server.LoadShedder.Check(loadshed.Watching)
	}
	return se.server.LoadShedder.Check(loadshed.Joining)
}

// arenaHandler makes the handler of a request whose only data is an arena's id. The
// handler runs call and replies with an empty message of type replyType.
func arenaHandler(reply string, do func(a Arenas, ctx context.Context, game, caller, arenaID string) error) handler {
	return func(se *session, ctx context.Context, r request) (func(), error) {
		var ref protocol.ArenaRef
		if err := r.Decode(&ref); err != nil {
			return noop, err
		}
		if err := do(se.server.Arenas, ctx, se.game, se.player, ref.ArenaID); err != nil {
			return noop, err
		}
		se.reply(r, reply, protocol.Empty{})
		return noop, nil
	}
}

func (se *session) onArenaNext(ctx context.Context, r request) (func(), error) {
	var n protocol.ArenaNext
	if err := r.Decode(&n); err != nil {
		return noop, err
	}
	if err := se.server.Arenas.Next(ctx, se.game, se.player, n); err != nil {
		return noop, err
	}
	se.reply(r, protocol.TypeArenaOK, protocol.Empty{})
	return noop, nil
}

func (se *session) onArenaKick(ctx context.Context, r request) (func(), error) {
	var k protocol.ArenaKick
	if err := r.Decode(&k); err != nil {
		return noop, err
	}
	if err := se.server.Arenas.Kick(ctx, se.game, se.player, k); err != nil {
		return noop, err
	}
	se.reply(r, protocol.TypeArenaOK, protocol.Empty{})
	return noop, nil
}
