package ws

import (
	"context"
	"errors"

	"github.com/oklog/ulid/v2"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// onHello handles a connection's first frame: what is no well-formed hello
// closes it, a bad token too.
func (se *session) onHello(ctx context.Context, r protocol.Request, err error) func() {
	se.stopWatch() // it was said in time; what follows has its own bound
	var h protocol.Hello
	if err == nil && r.Type != protocol.TypeHello {
		err = errors.New("the first message is hello")
	}
	if err == nil {
		err = r.Decode(&h)
	}
	if err != nil {
		se.close(protocol.CloseProtocol, "the first message is a well-formed hello")
		return nothing
	}
	player, err := se.identify(ctx, h.Token)
	switch {
	case errors.Is(err, identity.ErrToken):
		se.close(protocol.CloseUnauthorized, "token refused")
	case errors.Is(err, errRole):
		se.close(protocol.CloseForbidden, "this role does not play")
	case err != nil:
		se.outOfReach(err)
	default:
		se.welcome(ctx, request{Request: r}, h, player)
	}
	return nothing
}

var errRole = errors.New("ws: only players have a websocket")

func (se *session) identify(ctx context.Context, token string) (identity.Player, error) {
	claims, err := se.server.Identity.Verify(ctx, token)
	if err != nil {
		return identity.Player{}, err
	}
	if claims.Role != identity.RolePlayer {
		return identity.Player{}, errRole
	}
	se.expires = claims.ExpiresAt
	return se.server.Identity.Ensure(ctx, claims)
}

// welcome makes the session the player's one, leads it back into the match
// that the player is in, and resumes where that was asked for.
func (se *session) welcome(ctx context.Context, r request, h protocol.Hello, p identity.Player) {
	se.game, se.player = p.Game, p.ID
	se.greeted.Store(true)
	se.takePlace()
	running, seq, err := se.server.Lobby.Playing(ctx, p.Game, p.ID)
	if err != nil {
		se.outOfReach(err)
		return
	}
	se.watchBeat()
	w := protocol.Welcome{
		Version: protocol.Version, PlayerID: p.ID, Nickname: p.Nickname, Game: p.Game, Session: "s_" + ulid.Make().String(),
		ServerAt: se.server.Now(), PingMS: se.server.PingEvery.Milliseconds(),
	}
	if running != "" {
		w.Playing = &protocol.Playing{Match: running, Seq: seq}
	}
	se.reply(r, protocol.TypeWelcome, w)
	resumed := se.resume(ctx, r, h.Resume)
	if running != "" && running != resumed {
		se.leadBack(ctx, running, seq)
	}
}

// resume does what match.sync does, and gives the match, "" for none.
func (se *session) resume(ctx context.Context, r request, from *protocol.Resume) string {
	if from == nil {
		return ""
	}
	if err := se.sync(ctx, r, *from); err != nil {
		se.refuse(r.Request, err)
		return ""
	}
	return from.Match
}

// leadBack attaches the session to its player's match, from a number on.
func (se *session) leadBack(ctx context.Context, running string, seq int64) {
	err := se.server.Engine.Attach(ctx, match.Attachment{Match: running, Player: se.player, Sub: se, After: seq})
	if err != nil {
		se.server.Logger.Warn("a player could not be led back into a match; match.sync does", "match", running, "error", err)
	}
}

// outOfReach closes a session whose hello cannot be judged just now.
func (se *session) outOfReach(err error) {
	se.server.Logger.Warn("a hello failed", "error", err)
	se.close(protocol.CloseOverloaded, comeAgain)
}
