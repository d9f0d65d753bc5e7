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
	if err := a.admit(ctx, req, hello); err != nil && !a.isClosing() {
		a.closeRefused(err)
	}
}

// admit welcomes the player of a hello, or returns why not. It does nothing more if the
// session was closed in the meantime.
func (a *admission) admit(ctx context.Context, req request, hello protocol.Hello) error {
	isResume := hello.Resume != nil
	if err := a.services.Limits.checkHello(ctx, a.addressKey(), isResume); err != nil {
		return err
	}
	player, err := a.identify(ctx, hello)
	if err != nil {
		if isResume {
			_ = a.services.Limits.HellosPerNode.Take(ctx, newHelloKey, 1) // an invalid resume counts as a new hello, but makes no debt
		}
		return err
	}
	if err := a.checkAdmission(ctx, player, isResume); err != nil || a.isClosing() {
		return err
	}
	playing, err := a.bindPlayer(ctx, player)
	if err != nil {
		return err
	}
	if err := a.services.Identity.CheckActive(a.claims, a.player); err != nil { // banned since identify
		return err
	}
	a.welcome(ctx, req, hello, protocol.Welcome{PlayerID: player.ID, Nickname: player.Nickname, Game: player.Game, Playing: playing})
	return nil
}

func (a *admission) closeRefused(err error) {
	var refusal *protocol.Error
	switch {
	case a.closeRevoked(err):
	case errors.As(err, &refusal):
		a.rejectHello(refusal)
	case errors.Is(err, errRole):
		a.close(protocol.CloseForbidden, "only the roles player and host can use the websocket")
	case errors.Is(err, errReplaced):
		a.close(protocol.CloseReplaced, replacedReason)
	default: // a store failed
		a.services.Logger.Warn("hello failed", "error", err)
		a.close(protocol.CloseOverloaded, retryReason)
	}
}

var (
	errRole     = errors.New("ws: only players and hosts can use a websocket")
	errReplaced = errors.New("ws: the player has a newer session")
)

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

// welcome sends the welcome and attaches the session to the player's match. If the hello has
// a resume, it also replays the pushes that the client has missed.
func (a *admission) welcome(ctx context.Context, req request, hello protocol.Hello, welcome protocol.Welcome) {
	a.reportOnline()
	welcome.Version, welcome.Session = protocol.Version, "s_"+ulid.Make().String()
	welcome.ServerAt, welcome.PingMS = a.services.Now(), a.services.PingInterval.Milliseconds()
	a.reply(req, protocol.TypeWelcome, welcome)
	resumed := a.resume(ctx, req, hello.Resume)
	if playing := welcome.Playing; playing != nil && playing.Match != resumed {
		a.rejoinMatch(ctx, playing)
	}
}

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
