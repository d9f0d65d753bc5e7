package match

import (
	"context"
	"errors"
	"slices"

	"laststand/internal/protocol"
)

// Attachment asks for a session to be attached to a match: First is called
// with the match as it stands, then come all frames after the number, then
// live ones, in order and without a gap. First must not block; where it is nil
// a session that is attached already is left as it is. A session that is not
// the player's any more is not attached. Replay is called before all that with
// the size of the frames, and its error refuses the attachment.
type Attachment struct {
	Match       string
	Player      string
	Sub         Subscriber
	After       int64
	OnState     func(protocol.MatchState)
	CheckReplay func(bytes int64) error // nil: any
}

// Attach attaches a session to a match that its player has a place in:
// ErrNotFound where there is none, or no place in it, and with First where it
// is an arena that has not begun.
func (e *Engine) Attach(ctx context.Context, a Attachment) error {
	l, err := e.loadMatch(ctx, a.Match)
	if err != nil {
		return err
	}
	m, err := e.lookUpMember(ctx, l, a.Player)
	if err != nil {
		return err
	}
	return e.attachAndSchedule(ctx, l, a, m)
}

// AttachFrom leads a player's session at this node into an arena's feed, from a
// number on.
func (e *Engine) AttachFrom(ctx context.Context, match, player string, after int64) error {
	l, err := e.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	sub, ok := e.Presence.Find(l.plan.Game, player)
	if !ok {
		return nil
	}
	return e.Attach(ctx, Attachment{Match: match, Player: player, Sub: sub, After: after})
}

// attachAndSchedule attaches somebody's session, and takes up what was news to this node.
func (e *Engine) attachAndSchedule(ctx context.Context, l *localMatch, a Attachment, m Member) error {
	if err := e.attach(ctx, l, a, m); err != nil {
		return err
	}
	e.armTimer(l)
	e.scheduleNotices(l)
	if l.plan.Arena != nil && a.Player == l.plan.Arena.Host {
		e.reportHost(ctx, l)
	}
	return nil
}

func (e *Engine) attach(ctx context.Context, l *localMatch, a Attachment, m Member) error {
	from := l.beginAttach(a.After)
	defer l.endAttach()
	replayed := e.replayFrames(ctx, l, from)
	q := ReadQuery{Match: l.plan.ID, After: from + int64(len(replayed)), Node: e.Node, SeenVersion: l.knownVersion(), WantListed: a.OnState != nil}
	switch {
	case l.plan.Arena == nil:
		q.Players = l.plan.players()
	case m.Role == AsPlayer:
		q.Players, q.WantRanks = []string{a.Player}, true
	}
	v, err := e.Store.Read(ctx, q)
	if err = e.handleLoss(ctx, l, err); errors.Is(err, ErrAbandoned) { // as it is: this session is told too
		q.SeenVersion, q.After, replayed = 0, from, nil
		v, err = e.Store.Read(ctx, q)
	}
	switch {
	case err != nil:
		return err
	case a.OnState != nil && (v.Phase == Lobby || v.Phase == Starting):
		return ErrNotFound
	}
	l.updateVersion(v.Version)
	v.prependFrames(replayed, q.After)
	if a.CheckReplay != nil {
		if err := a.CheckReplay(v.bytesAfter(a.After)); err != nil {
			return err
		}
	}
	e.addToFeed(l, a, v)
	return nil
}

// addToFeed adds a session to the feed of a match that was just read. It is
// remembered before it is found to be present: so who gives it up meanwhile
// finds it.
func (e *Engine) addToFeed(l *localMatch, a Attachment, v View) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.OnState == nil && l.subs[a.Player] == a.Sub {
		return
	}
	e.addAttached(l, a.Player)
	if sub, ok := e.Presence.Find(l.plan.Game, a.Player); !ok || sub != a.Sub {
		if l.subs[a.Player] == nil {
			e.removeAttached(l, a.Player)
		}
		return
	}
	l.catchUp(v)
	if a.OnState != nil {
		a.Sub.DiscardHeld(l.plan.ID)
		a.OnState(stateView(l.plan, v, a.Player))
	}
	l.addSubscriber(a, v)
}

// addAttached notes that a player's session is fed from a match.
func (e *Engine) addAttached(l *localMatch, player string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := playerKey{l.plan.Game, player}
	if !slices.Contains(e.attached[key], l) {
		e.attached[key] = append(e.attached[key], l)
	}
}

// removeAttached takes a match off those that a player is fed from.
func (e *Engine) removeAttached(l *localMatch, player string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := playerKey{l.plan.Game, player}
	others := slices.DeleteFunc(e.attached[key], func(other *localMatch) bool { return other == l })
	if len(others) == 0 {
		delete(e.attached, key)
		return
	}
	e.attached[key] = others
}

// IsInMatch says whether a player or host at this node is in a match that has
// begun and is not over.
func (e *Engine) IsInMatch(game, player string) bool {
	for _, l := range e.attachedMatches(game, player) {
		if s := l.knownState(); !s.Phase.hasEnded() && s.Phase != Lobby && s.Phase != Starting && !l.isSpectator(player) {
			return true
		}
	}
	return false
}

// IsFollowing says whether somebody at this node is fed from a match that is not over,
// be it in its lobby or looking on.
func (e *Engine) IsFollowing(game, player string) bool {
	return slices.ContainsFunc(e.attachedMatches(game, player), func(l *localMatch) bool { return !l.knownState().Phase.hasEnded() })
}

// Detach removes a player's session from the matches that it is fed from. To
// be rid of it for good it is taken out of Presence before.
func (e *Engine) Detach(game, player string, sub Subscriber) {
	for _, l := range e.attachedMatches(game, player) {
		e.detach(l, player, sub)
	}
}

// detach removes a session from a feed, unless a newer one of the same player
// has replaced it.
func (e *Engine) detach(l *localMatch, player string, sub Subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs[player] == sub {
		delete(l.subs, player)
		delete(l.members, player)
		e.removeAttached(l, player)
	}
}

func (e *Engine) attachedMatches(game, player string) []*localMatch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.attached[playerKey{game, player}])
}
