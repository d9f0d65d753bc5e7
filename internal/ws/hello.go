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
func (a *admission) onHello(ctx context.Context, req request, err error) {
	var hello protocol.Hello
	if err == nil && req.Type != protocol.TypeHello {
		err = errors.New("the first message must be hello")
	}
	if err == nil {
		err = req.Decode(&hello)
	}
	if err != nil {
		a.close(protocol.CloseProtocol, "the first message must be a well-formed hello")
		return
	}
	if err := a.services.Limits.checkHello(ctx, a.addressKey(), hello.Resume != nil); err != nil {
		a.rejectHello(err)
		return
	}
	player, err := a.identify(ctx, hello)
	switch {
	case err == nil:
		err = a.checkAdmission(ctx, player, hello.Resume != nil)
	case hello.Resume != nil:
		_ = a.services.Limits.HellosPerNode.Take(ctx, newHelloKey, 1) // an invalid resume counts as a new hello, but makes no debt
	}
	var refusal *protocol.Error
	switch {
	case a.isClosing(): // the session was closed in the meantime
	case a.closeRevoked(err):
	case errors.As(err, &refusal):
		a.rejectHello(refusal)
	case errors.Is(err, errRole):
		a.close(protocol.CloseForbidden, "only the roles player and host can use the websocket")
	case err != nil:
		a.closeUnavailable(err)
	default:
		a.welcome(ctx, req, hello, player)
	}
}

var errRole = errors.New("ws: only players and hosts can use a websocket")

// identify verifies the token, stores its claims in the session and returns the player. A
// new player first waits for admission. For a host it returns a player made of the claims.
func (a *admission) identify(ctx context.Context, hello protocol.Hello) (identity.Player, error) {
	claims, err := a.services.Identity.Verify(ctx, hello.Token)
	if err != nil {
		return identity.Player{}, err
	}
	a.claims = claims
	switch claims.Role {
	case identity.RolePlayer:
		if hello.Resume == nil {
			if err := a.awaitAdmission(ctx, claims); err != nil {
				return identity.Player{}, err
			}
		}
		return a.services.Identity.Ensure(ctx, claims)
	case identity.RoleHost: // the token alone identifies a host
		host := identity.Player{Game: claims.Game, ID: claims.Subject, Nickname: claims.Subject}
		return host, a.services.Identity.CheckHost(ctx, claims)
	}
	return identity.Player{}, errRole
}

// welcome binds the player to this session, sends the welcome and attaches the session to
// the player's match. If the hello has a resume, it also replays the pushes that the
// client has missed.
func (a *admission) welcome(ctx context.Context, req request, hello protocol.Hello, player identity.Player) {
	playing, err := a.bindPlayer(ctx, player)
	switch {
	case errors.Is(err, errReplaced):
		a.close(protocol.CloseReplaced, replacedReason)
		return
	case err != nil:
		a.closeUnavailable(err)
		return
	case !a.closeUnlessAllowed(): // the player may have been banned since identify
		return
	}
	a.startVisit()
	a.reply(req, protocol.TypeWelcome, protocol.Welcome{
		Version: protocol.Version, PlayerID: player.ID, Nickname: player.Nickname, Game: player.Game, Session: "s_" + ulid.Make().String(),
		ServerAt: a.services.Now(), PingMS: a.services.PingInterval.Milliseconds(), Playing: playing,
	})
	resumed := a.resume(ctx, req, hello.Resume)
	if playing != nil && playing.Match != resumed {
		a.rejoinMatch(ctx, playing)
	}
}

var errReplaced = errors.New("ws: the player has a newer session")

// bindPlayer makes this session the player's newest one at any node. It returns the
// player's match, or the arena whose lobby the player waits in, or nil. This node's lobby
// takes over the player's ticket.
func (a *admission) bindPlayer(ctx context.Context, player identity.Player) (*protocol.Playing, error) {
	a.game, a.player = player.Game, player.ID
	number, formerNode, err := a.services.SessionNumbers.Assign(ctx, player.Game, player.ID)
	if err != nil {
		return nil, err
	}
	a.number = number
	a.greeted.Store(true)
	if !a.bindLocally() {
		return nil, errReplaced
	}
	if formerNode != "" {
		a.services.NotifyReplaced(ctx, formerNode, player.Game, player.ID, number)
	}
	playing, previous, err := a.services.Lobby.ReadOnConnect(ctx, player.Game, player.ID)
	if err == nil {
		a.previousMatch.Store(&previous)
	}
	if err == nil && playing == nil {
		err = a.services.Lobby.TakeOver(ctx, player.Game, player.ID)
	}
	return playing, err
}

// resume does the same as a match.sync request. It returns the id of the match, or "" if
// the client asked for none or it failed.
func (a *admission) resume(ctx context.Context, req request, resume *protocol.Resume) string {
	if resume == nil {
		return ""
	}
	if err := a.requests.syncMatch(ctx, req, *resume); err != nil {
		a.requests.replyError(req, err)
		return ""
	}
	return resume.Match
}

// rejoinMatch attaches the session to its player's match. The client gets the pushes
// after playing.Seq, the push number in the welcome.
func (a *admission) rejoinMatch(ctx context.Context, playing *protocol.Playing) {
	err := a.services.Engine.Attach(ctx, match.AttachRequest{Match: playing.Match, Player: a.player, Session: a.presence, AfterSeq: playing.Seq})
	if err != nil {
		a.services.Logger.Warn("session resume failed; the client can send match.sync", "match", playing.Match, "error", err)
	}
}

// closeUnavailable closes a session whose hello could not be handled because a store
// failed with err.
func (a *admission) closeUnavailable(err error) {
	a.services.Logger.Warn("hello failed", "error", err)
	a.close(protocol.CloseOverloaded, retryReason)
}
