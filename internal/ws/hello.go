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
func (se *session) onHello(ctx context.Context, r request, err error) func() {
	se.watch.Stop() // it was said in time; what follows has its own bound
	se.server.speaks(se)
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
	if err := se.server.Limits.greet(ctx, se.from(), h.Resume != nil); err != nil {
		se.turnAway(err)
		return nothing
	}
	player, err := se.identify(ctx, h)
	ctx, _ = se.patience() // anew, since it may have waited for its turn
	switch {
	case err == nil:
		err = se.admitted(ctx, player, h.Resume != nil)
	case h.Resume != nil:
		se.server.Limits.forged(ctx)
	}
	var pressed *protocol.Error
	switch {
	case se.leaving.Load() != nil: // meanwhile
	case se.barred(err):
	case errors.As(err, &pressed):
		se.turnAway(pressed)
	case errors.Is(err, errRole):
		se.close(protocol.CloseForbidden, "this role does not play")
	case err != nil:
		se.outOfReach(err)
	default:
		se.welcome(ctx, r, h, player)
	}
	return nothing
}

var errRole = errors.New("ws: only players and hosts have a websocket")

func (se *session) identify(ctx context.Context, h protocol.Hello) (identity.Player, error) {
	claims, err := se.server.Identity.Verify(ctx, h.Token)
	if err != nil {
		return identity.Player{}, err
	}
	se.claims = claims
	switch claims.Role {
	case identity.RolePlayer:
		if h.Resume == nil {
			if err := se.await(ctx, claims); err != nil {
				return identity.Player{}, err
			}
			ctx, _ = se.patience()
		}
		return se.server.Identity.Ensure(ctx, claims)
	case identity.RoleHost: // known by the token alone
		host := identity.Player{Game: claims.Game, ID: claims.Subject, Nickname: claims.Subject}
		return host, se.server.Identity.CheckHost(ctx, claims)
	}
	return identity.Player{}, errRole
}

// welcome makes the session the player's one, leads it back into the match
// that the player is in, and resumes where that was asked for.
func (se *session) welcome(ctx context.Context, r request, h protocol.Hello, p identity.Player) {
	playing, err := se.enter(ctx, p)
	switch {
	case errors.Is(err, errReplaced):
		se.close(protocol.CloseReplaced, replaced)
		return
	case err != nil:
		se.outOfReach(err)
		return
	case !se.stands(): // since it was looked at
		return
	}
	se.beginVisit()
	se.watchBeat()
	if playing != nil && playing.ArenaID == "" || se.server.Lobby.HasTicket(p.Game, p.ID) {
		se.returnToRoom()
	}
	se.reply(r, protocol.TypeWelcome, protocol.Welcome{
		Version: protocol.Version, PlayerID: p.ID, Nickname: p.Nickname, Game: p.Game, Session: "s_" + ulid.Make().String(),
		ServerAt: se.server.Now(), PingMS: se.server.PingEvery.Milliseconds(), Playing: playing,
	})
	resumed := se.resume(ctx, r, h.Resume)
	if playing != nil && playing.Match != resumed {
		se.leadBack(ctx, playing)
	}
}

var errReplaced = errors.New("ws: a newer session of the player has come meanwhile")

// enter makes the session the newest of its player at all nodes, and gives the
// match that the player is in, or the arena that has not begun; nil for none. A
// ticket that the player has is looked after here from now on.
func (se *session) enter(ctx context.Context, p identity.Player) (*protocol.Playing, error) {
	se.game, se.player = p.Game, p.ID
	number, former, err := se.server.Numbers.Next(ctx, p.Game, p.ID)
	if err != nil {
		return nil, err
	}
	se.number = number
	se.greeted.Store(true)
	if !se.takePlace() {
		return nil, errReplaced
	}
	if former != "" {
		se.server.Replace(ctx, former, p.Game, p.ID, number)
	}
	playing, before, err := se.server.Lobby.ReadOnConnect(ctx, p.Game, p.ID)
	if err == nil {
		se.before.Store(&before)
	}
	if err == nil && playing == nil {
		err = se.server.Lobby.TakeOver(ctx, p.Game, p.ID)
	}
	return playing, err
}

// beginVisit has a player's stay reported, a host's not. Each session is a visit
// of its own: one that replaces another, or comes back soon, is the next visit,
// and the former ends with its session, perhaps a little later.
func (se *session) beginVisit() {
	if se.server.Visits != nil && se.claims.Role == identity.RolePlayer {
		se.leave = se.server.Visits.Enter(se.game, se.player, se.claims.PI)
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

// leadBack attaches the session to its player's match, from the number on that
// its welcome names.
func (se *session) leadBack(ctx context.Context, p *protocol.Playing) {
	err := se.server.Engine.Attach(ctx, match.Attachment{Match: p.Match, Player: se.player, Sub: se, After: p.Seq})
	if err != nil {
		se.server.Logger.Warn("session resume failed; the client can send match.sync", "match", p.Match, "error", err)
	}
}

// outOfReach closes a session whose hello cannot be judged just now.
func (se *session) outOfReach(err error) {
	se.server.Logger.Warn("hello failed", "error", err)
	se.close(protocol.CloseOverloaded, comeAgain)
}
