package ws

import (
	"context"
	"errors"

	"github.com/oklog/ulid/v2"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// onHello handles a connection's first frame. It closes the session if the frame is not a
// well-formed hello, if the token is invalid, or if the player is refused for now.
func (se *session) onHello(ctx context.Context, req request, err error) func() {
	se.timer.Stop() // the hello came in time; handling it has its own limit
	se.server.removePendingHello(se)
	var hello protocol.Hello
	if err == nil && req.Type != protocol.TypeHello {
		err = errors.New("the first message must be hello")
	}
	if err == nil {
		err = req.Decode(&hello)
	}
	if err != nil {
		se.close(protocol.CloseProtocol, "the first message must be a well-formed hello")
		return doNothing
	}
	if err := se.server.Limits.checkHello(ctx, se.addressKey(), hello.Resume != nil); err != nil {
		se.rejectHello(err)
		return doNothing
	}
	player, err := se.identify(ctx, hello)
	ctx, _ = se.requestContext() // a new deadline, since identify may have waited for admission
	switch {
	case err == nil:
		err = se.checkAdmission(ctx, player, hello.Resume != nil)
	case hello.Resume != nil:
		se.server.Limits.chargeInvalidResume(ctx)
	}
	var refusal *protocol.Error
	switch {
	case se.closing.Load() != nil: // the session was closed in the meantime
	case se.closeRevoked(err):
	case errors.As(err, &refusal):
		se.rejectHello(refusal)
	case errors.Is(err, errRole):
		se.close(protocol.CloseForbidden, "only the roles player and host can use the websocket")
	case err != nil:
		se.closeUnavailable(err)
	default:
		se.welcome(ctx, req, hello, player)
	}
	return doNothing
}

var errRole = errors.New("ws: only players and hosts can use a websocket")

// identify verifies the token, stores its claims in the session and returns the player. A
// new player first waits for admission. For a host it returns a player made of the claims.
func (se *session) identify(ctx context.Context, hello protocol.Hello) (identity.Player, error) {
	claims, err := se.server.Identity.Verify(ctx, hello.Token)
	if err != nil {
		return identity.Player{}, err
	}
	se.claims = claims
	switch claims.Role {
	case identity.RolePlayer:
		if hello.Resume == nil {
			if err := se.awaitAdmission(ctx, claims); err != nil {
				return identity.Player{}, err
			}
			ctx, _ = se.requestContext()
		}
		return se.server.Identity.Ensure(ctx, claims)
	case identity.RoleHost: // the token alone identifies a host
		host := identity.Player{Game: claims.Game, ID: claims.Subject, Nickname: claims.Subject}
		return host, se.server.Identity.CheckHost(ctx, claims)
	}
	return identity.Player{}, errRole
}

// welcome binds the player to this session, sends the welcome and attaches the session to
// the player's match. If the hello has a resume, it also replays the pushes that the
// client has missed.
func (se *session) welcome(ctx context.Context, req request, hello protocol.Hello, player identity.Player) {
	playing, err := se.bindPlayer(ctx, player)
	switch {
	case errors.Is(err, errReplaced):
		se.close(protocol.CloseReplaced, replacedReason)
		return
	case err != nil:
		se.closeUnavailable(err)
		return
	case !se.closeUnlessAllowed(): // the player may have been banned since identify
		return
	}
	se.startVisit()
	se.scheduleHeartbeat()
	if playing != nil && playing.ArenaID == "" || se.server.Lobby.HasTicket(player.Game, player.ID) {
		se.addDuelPlace()
	}
	se.reply(req, protocol.TypeWelcome, protocol.Welcome{
		Version: protocol.Version, PlayerID: player.ID, Nickname: player.Nickname, Game: player.Game, Session: "s_" + ulid.Make().String(),
		ServerAt: se.server.Now(), PingMS: se.server.PingInterval.Milliseconds(), Playing: playing,
	})
	resumed := se.resume(ctx, req, hello.Resume)
	if playing != nil && playing.Match != resumed {
		se.rejoinMatch(ctx, playing)
	}
}

var errReplaced = errors.New("ws: the player has a newer session")

// bindPlayer makes this session the player's newest one at any node. It returns the
// player's match, or the arena whose lobby the player waits in, or nil. This node's lobby
// takes over the player's ticket.
func (se *session) bindPlayer(ctx context.Context, player identity.Player) (*protocol.Playing, error) {
	se.game, se.player = player.Game, player.ID
	number, formerNode, err := se.server.SessionNumbers.Assign(ctx, player.Game, player.ID)
	if err != nil {
		return nil, err
	}
	se.number = number
	se.greeted.Store(true)
	if !se.bindLocally() {
		return nil, errReplaced
	}
	if formerNode != "" {
		se.server.NotifyReplaced(ctx, formerNode, player.Game, player.ID, number)
	}
	playing, previous, err := se.server.Lobby.ReadOnConnect(ctx, player.Game, player.ID)
	if err == nil {
		se.previousMatch.Store(&previous)
	}
	if err == nil && playing == nil {
		err = se.server.Lobby.TakeOver(ctx, player.Game, player.ID)
	}
	return playing, err
}

// startVisit reports the start of a player's visit; it ignores hosts. Each session is a
// separate visit. If this session replaces another, the other's visit ends when the other
// session ends, perhaps a little later.
func (se *session) startVisit() {
	if se.server.Visits != nil && se.claims.Role == identity.RolePlayer {
		se.endVisit = se.server.Visits.Enter(se.game, se.player, se.claims.PI)
	}
}

// resume does the same as a match.sync request. It returns the id of the match, or "" if
// the client asked for none or it failed.
func (se *session) resume(ctx context.Context, req request, resume *protocol.Resume) string {
	if resume == nil {
		return ""
	}
	if err := se.syncMatch(ctx, req, *resume); err != nil {
		se.replyError(req.Request, err)
		return ""
	}
	return resume.Match
}

// rejoinMatch attaches the session to its player's match. The client gets the pushes
// after playing.Seq, the push number in the welcome.
func (se *session) rejoinMatch(ctx context.Context, playing *protocol.Playing) {
	err := se.server.Engine.Attach(ctx, match.AttachRequest{Match: playing.Match, Player: se.player, Session: se, AfterSeq: playing.Seq})
	if err != nil {
		se.server.Logger.Warn("session resume failed; the client can send match.sync", "match", playing.Match, "error", err)
	}
}

// closeUnavailable closes a session whose hello could not be handled because a store
// failed with err.
func (se *session) closeUnavailable(err error) {
	se.server.Logger.Warn("hello failed", "error", err)
	se.close(protocol.CloseOverloaded, retryReason)
}
