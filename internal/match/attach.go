package match

import (
	"context"
	"errors"
	"slices"

	"laststand/internal/protocol"
)

// AttachRequest asks to attach a session to a match. OnState is called with the
// current state of the match. Then the session gets all frames after number
// AfterSeq, then live frames, in order and without gaps. OnState must not block.
// If OnState is nil and the session is attached already, nothing changes.
//
// CheckReplay is called first with the size of the frames in bytes. If it returns
// an error, the session is not attached. A session that a newer one has replaced
// is not attached either.
type Attachment struct {
	Match       string
	Player      string
	Sub         Subscriber
	After       int64
	OnState     func(protocol.MatchState)
	CheckReplay func(bytes int64) error // nil accepts any size
}

// Attach attaches a session to a match in which its player has a place. It
// returns ErrNotFound if there is no match or no place. With OnState it also
// returns ErrNotFound for an arena in its lobby.
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

// AttachFrom attaches a player's session at this node to an arena, from a push
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

// attachAndSchedule attaches a session and schedules what the read state
// requires.
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
	if err = e.handleLoss(ctx, l, err); errors.Is(err, ErrAbandoned) { // read it as it is: this session needs the end as well
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

// addIfPresent adds a session to a match that was just read. It registers the
// session before it checks that the session is still present. A concurrent
// Detach therefore finds it.
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

// addAttachedMatch records that a player's session gets the pushes of a match.
func (e *Engine) addAttached(l *localMatch, player string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := playerKey{l.plan.Game, player}
	if !slices.Contains(e.attached[key], l) {
		e.attached[key] = append(e.attached[key], l)
	}
}

// removeAttached undoes addAttachedMatch.
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

// IsInMatch reports whether a player or host at this node is in a match that
// has begun and is not over.
func (e *Engine) IsInMatch(game, player string) bool {
	for _, l := range e.attachedMatches(game, player) {
		if s := l.knownState(); !s.Phase.hasEnded() && s.Phase != Lobby && s.Phase != Starting && !l.isSpectator(player) {
			return true
		}
	}
	return false
}

// IsFollowing reports whether a person at this node gets the pushes of a match
// that is not over. A match in its lobby and a spectator count, too.
func (e *Engine) IsFollowing(game, player string) bool {
	return slices.ContainsFunc(e.attachedMatches(game, player), func(l *localMatch) bool { return !l.knownState().Phase.hasEnded() })
}

// Detach removes a player's session from its matches. To prevent that it is
// attached again, remove it from Presence first.
func (e *Engine) Detach(game, player string, sub Subscriber) {
	for _, l := range e.attachedMatches(game, player) {
		e.detach(l, player, sub)
	}
}

// detach removes a session from a match, unless a newer session of the same
// player has replaced it.
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
