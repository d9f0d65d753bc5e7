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

// sessions attaches sessions to matches.
type sessions struct {
	*places
	hosts *hosts
}

// Attach attaches a session to a match in which its player has a place. It
// returns ErrNotFound if there is no match or no place. With OnState it also
// returns ErrNotFound for an arena in its lobby.
func (s *sessions) Attach(ctx context.Context, request AttachRequest) error {
	local, err := s.loadMatch(ctx, request.Match)
	if err != nil {
		return err
	}
	member, err := s.lookUpMember(ctx, local, request.Player)
	if err != nil {
		return err
	}
	return s.attachAndSchedule(ctx, local, request, member)
}

// AttachFrom attaches a player's session at this node to an arena, from a push
// number on.
func (s *sessions) AttachFrom(ctx context.Context, match, player string, after int64) error {
	local, err := s.loadMatch(ctx, match)
	if err != nil {
		return err
	}
	session, ok := s.Presence.Find(local.plan.Game, player)
	if !ok {
		return nil
	}
	return s.Attach(ctx, AttachRequest{Match: match, Player: player, Session: session, AfterSeq: after})
}

// attachAndSchedule attaches a session and schedules what the read state
// requires.
func (s *sessions) attachAndSchedule(ctx context.Context, local *localMatch, request AttachRequest, member Member) error {
	if err := s.attach(ctx, local, request, member); err != nil {
		return err
	}
	s.armTimer(local)
	s.emitChange(local)
	if local.plan.Arena != nil && request.Player == local.plan.Arena.Host {
		s.hosts.reportHost(ctx, local)
	}
	return nil
}

func (s *sessions) attach(ctx context.Context, local *localMatch, request AttachRequest, member Member) error {
	from := local.startAttaching(request.AfterSeq)
	defer local.endAttaching()
	replayed := s.replayFrames(ctx, local, from)
	query := ReadQuery{Match: local.plan.ID, AfterSeq: from + int64(len(replayed)), Node: s.Node, SeenVersion: local.knownVersion(), WantListed: request.OnState != nil}
	switch {
	case local.plan.Arena == nil:
		query.Players = local.plan.duelPlayers()
	case member.Role == PlayerRole:
		query.Players, query.WantRanks = []string{request.Player}, true
	}
	view, err := s.Matches.Read(ctx, query)
	if err = s.handleLoss(ctx, local, err); errors.Is(err, ErrAbandoned) { // read again without the check for lost data: this session must get the final push, too
		query.SeenVersion, query.AfterSeq, replayed = 0, from, nil
		view, err = s.Matches.Read(ctx, query)
	}
	switch {
	case err != nil:
		return err
	case request.OnState != nil && (view.Phase == PhaseLobby || view.Phase == PhaseStarting):
		return ErrNotFound
	}
	local.updateVersion(view.Version)
	view.prependFrames(replayed, query.AfterSeq)
	if request.CheckReplay != nil {
		if err := request.CheckReplay(view.bytesAfter(request.AfterSeq)); err != nil {
			return err
		}
	}
	s.addIfPresent(local, request, view)
	return nil
}

// addIfPresent adds a session to a match that was just read. It registers the
// session before it checks that the session is still present. A concurrent
// Detach therefore finds it.
func (s *sessions) addIfPresent(local *localMatch, request AttachRequest, view View) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if request.OnState == nil && local.sessions[request.Player] == request.Session {
		return
	}
	s.addAttachedMatch(local, request.Player)
	if session, ok := s.Presence.Find(local.plan.Game, request.Player); !ok || session != request.Session {
		if local.sessions[request.Player] == nil {
			s.removeAttachedMatch(local, request.Player)
		}
		return
	}
	local.catchUp(view)
	if request.OnState != nil {
		request.Session.DiscardUnsent(local.plan.ID)
		request.OnState(stateView(local.plan, view, request.Player))
	}
	local.addSession(request, view)
}

// IsInMatch reports whether a player or host at this node is in a match that
// has begun and is not over.
func (s *sessions) IsInMatch(game, player string) bool {
	for _, local := range s.attachedMatches(game, player) {
		if state := local.knownState(); !state.Phase.hasEnded() && state.Phase != PhaseLobby && state.Phase != PhaseStarting && !local.members.hasRole(player, SpectatorRole) {
			return true
		}
	}
	return false
}

// IsFollowing reports whether a person at this node gets the pushes of a match
// that is not over. A match in its lobby and a spectator count, too.
func (s *sessions) IsFollowing(game, player string) bool {
	return slices.ContainsFunc(s.attachedMatches(game, player), func(local *localMatch) bool { return !local.knownState().Phase.hasEnded() })
}

// Detach removes a player's session from its matches. To prevent that it is
// attached again, remove it from Presence first.
func (s *sessions) Detach(game, player string, session Subscriber) {
	for _, local := range s.attachedMatches(game, player) {
		s.detach(local, player, session)
	}
}

// detach removes a session from a match, unless a newer session of the same
// player has replaced it.
func (s *sessions) detach(local *localMatch, player string, session Subscriber) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.sessions[player] == session {
		delete(local.sessions, player)
		local.members.forget(player)
		s.removeAttachedMatch(local, player)
	}
}

// AttachSession attaches a player's session at this node to a match, if there
// is one and it accepts the match. It returns ErrNotFound if the match does not
// exist yet.
func (s *sessions) AttachSession(ctx context.Context, game, match, player string) error {
	session, ok := s.Presence.Find(game, player)
	if !ok || !session.CanAttach(match) {
		return nil
	}
	return s.Attach(ctx, AttachRequest{Match: match, Player: player, Session: session})
}
