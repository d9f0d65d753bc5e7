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
type AttachRequest struct {
	Match       string
	Player      string
	Session     Subscriber
	AfterSeq    int64
	OnState     func(protocol.MatchState)
	CheckReplay func(bytes int64) error // nil accepts any size
}

// attacher attaches sessions to matches.
type attacher struct {
	*places
	logs *logCopies
}

// Attach attaches a session to a match in which its player has a place. It
// returns ErrNotFound if there is no match or no place. With OnState it also
// returns ErrNotFound for an arena in its lobby.
func (a *attacher) Attach(ctx context.Context, request AttachRequest) error {
	for attempt := range maxStepAttempts {
		local, err := a.loadMatch(ctx, request.Match)
		if err != nil {
			return err
		}
		if request.OnState == nil && local.isAttached(request.Player, request.Session) {
			return nil
		}
		attached, err := a.tryAttach(ctx, local, request, attempt == 0)
		if err != nil {
			return err
		}
		if attached {
			a.noteChange(local)
			return nil
		}
	}
	return errMatchChanging
}

// AttachFrom attaches a player's session at this node to an arena, from a push
// number on.
func (a *attacher) AttachFrom(ctx context.Context, match, player string, after int64) error {
	local, err := a.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	session, ok := a.Presence.Find(local.plan.Game, player)
	if !ok {
		return nil
	}
	return a.Attach(ctx, AttachRequest{Match: match, Player: player, Session: session, AfterSeq: after})
}

// tryAttach reads the match and adds the session. It returns false if this node has delivered
// newer pushes since the read, or has dropped the match.
func (a *attacher) tryAttach(ctx context.Context, local *localMatch, request AttachRequest, isFirst bool) (attached bool, err error) {
	member, err := a.lookUpMember(ctx, local, request.Player)
	if err != nil {
		return false, err
	}
	view, err := a.readForSession(ctx, local, request, member)
	switch {
	case err != nil:
		return false, err
	case request.OnState != nil && (view.Phase == PhaseLobby || view.Phase == PhaseStarting):
		return false, ErrNotFound
	}
	if request.CheckReplay != nil && isFirst {
		if err := request.CheckReplay(view.bytesAfter(request.AfterSeq)); err != nil {
			return false, err
		}
	}
	return a.addIfPresent(local, request, view), nil
}

// readForSession reads what a session needs, with the frames that the session or those
// already here have not got.
func (a *attacher) readForSession(ctx context.Context, local *localMatch, request AttachRequest, member Member) (View, error) {
	from := min(request.AfterSeq, local.knownState().Seq)
	replayed := a.logs.framesAfter(ctx, local, from)
	query := ReadQuery{Match: local.plan.ID, AfterSeq: from + int64(len(replayed)), Node: a.Node, Seen: local.knownSeen(), WantListed: request.OnState != nil}
	switch {
	case local.plan.Arena == nil:
		query.Players = local.plan.duelPlayers()
	case member.Role == PlayerRole:
		query.Players, query.WantRanks = []string{request.Player}, true
	}
	view, err := a.Matches.Read(ctx, query)
	if err = a.handleLoss(ctx, local, err); errors.Is(err, ErrAbandoned) { // read again without the check for lost data: this session must get the final push, too
		query.Seen, query.AfterSeq, replayed = Seen{}, from, nil
		view, err = a.Matches.Read(ctx, query)
	}
	local.noteRead(view)
	if len(replayed) > 0 && view.Seq-int64(len(view.Frames)) == query.AfterSeq { // else the log has expired or was set back
		view.Frames = slices.Concat(replayed, view.Frames)
	}
	return view, err
}

// bytesAfter returns the size of a view's frames after a number.
func (v *View) bytesAfter(after int64) (size int64) {
	skip := after - (v.Seq - int64(len(v.Frames)))
	for _, frame := range v.Frames[min(max(skip, 0), int64(len(v.Frames))):] {
		size += int64(len(frame))
	}
	return size
}

// addIfPresent adds a session to a match that was just read, unless the session has left. It
// returns false if this node has dropped the match, or if newer pushes have been delivered here
// since the read. It registers the session before it checks that the session is still present. A concurrent Detach
// therefore finds it.
func (a *attacher) addIfPresent(local *localMatch, request AttachRequest, view View) bool {
	local.mu.Lock()
	defer local.mu.Unlock()
	if request.OnState == nil && local.sessions[request.Player] == request.Session {
		return true
	}
	if local.isDropped || local.state.hasPushesAfter(view.State) {
		return false
	}
	local.catchUp(view)
	a.addAttachedMatch(local, request.Player)
	if session, ok := a.Presence.Find(local.plan.Game, request.Player); !ok || session != request.Session {
		if local.sessions[request.Player] == nil {
			a.removeAttachedMatch(local, request.Player)
		}
		return true
	}
	if request.OnState != nil {
		request.Session.DiscardUnsent(local.plan.ID)
		request.OnState(stateView(local.plan, view, request.Player))
	}
	local.addSession(request, view)
	return true
}

// IsInMatch reports whether a player or host at this node is in a match that
// has begun and is not over.
func (a *attacher) IsInMatch(game, player string) bool {
	for _, local := range a.attachedMatches(game, player) {
		state := local.knownState()
		member := local.members.find(player)
		if !state.Phase.hasEnded() && state.Phase != PhaseLobby && state.Phase != PhaseStarting && member.Role != SpectatorRole {
			return true
		}
	}
	return false
}

// IsFollowing reports whether a person at this node gets the pushes of a match
// that is not over. A match in its lobby and a spectator count, too.
func (a *attacher) IsFollowing(game, player string) bool {
	return slices.ContainsFunc(a.attachedMatches(game, player), func(local *localMatch) bool { return !local.knownState().Phase.hasEnded() })
}

// Detach removes a player's session from its matches. To prevent that it is
// attached again, remove it from Presence first.
func (a *attacher) Detach(game, player string, session Subscriber) {
	for _, local := range a.attachedMatches(game, player) {
		a.detach(local, player, session)
	}
}

// detach removes a session from a match, unless a newer session of the same
// player has replaced it.
func (a *attacher) detach(local *localMatch, player string, session Subscriber) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.sessions[player] == session {
		delete(local.sessions, player)
		local.members.remove(player)
		a.removeAttachedMatch(local, player)
	}
}

// AttachSession attaches a player's session at this node to a match, if there
// is one and it accepts the match. It returns ErrNotFound if the match does not
// exist yet.
func (a *attacher) AttachSession(ctx context.Context, game, match, player string) error {
	session, ok := a.findAttachable(game, match, player)
	if !ok {
		return nil
	}
	return a.Attach(ctx, AttachRequest{Match: match, Player: player, Session: session})
}

// findAttachable returns a player's session at this node, if it accepts the match.
func (a *attacher) findAttachable(game, match, player string) (Subscriber, bool) {
	session, ok := a.Presence.Find(game, player)
	return session, ok && session.CanAttach(match)
}

// addSession adds a session. It first pushes the frames of the view that the session has
// not seen. The caller holds mu, and no newer frame was delivered here.
func (l *localMatch) addSession(request AttachRequest, view View) {
	l.sessions[request.Player] = request.Session
	if running := !l.state.Phase.hasEnded(); l.plan.Mode == Duel && (running || request.AfterSeq < view.Seq) {
		request.Session.DuelChanged(running)
	}
	first := view.Seq - int64(len(view.Frames)) + 1
	for i, frame := range view.Frames {
		if first+int64(i) > request.AfterSeq {
			request.Session.Push(l.plan.ID, frame)
		}
	}
	if request.OnState == nil {
		l.pushOwnDeadline(request.Player)
	}
	if l.state.isAbandoned() {
		if view.Seq > 0 && (view.EndReason == ReasonAbandoned || !view.Phase.hasEnded()) {
			request.Session.Push(l.plan.ID, abandonedPush(l.plan).Frame(max(request.AfterSeq, view.Seq)+1))
		}
	}
}
