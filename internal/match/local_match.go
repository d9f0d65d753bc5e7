package match

import (
	"maps"
	"slices"
	"sync"

	"laststand/internal/timer"
)

// localMatch is the copy of a match that this node holds: its plan, the known
// state, its timer, and the sessions of its players that get the numbered
// pushes.
type localMatch struct {
	plan       *Plan
	answerSlot answerSlot

	mu                   sync.Mutex // locked before the registry's mutex; never held during store calls
	state                State      // newest known state; its Seq is the last push delivered here
	version              int64      // highest known version
	duel                 duelAnswers
	remoteStepVersion    int64 // version of the newest step of another node; -1 for none
	sessions             map[string]Subscriber
	members              map[string]Member // of an arena: those that this node has looked up
	timer                timer.Timer
	early                earlyDeliveries // what other goroutines or nodes delivered before earlier pushes
	isCatchUpScheduled   bool
	lastBotsQuestion     int   // last question that bots were scheduled for; -1 for none
	lastPersonalQuestion int   // last question whose personal results were sent; -1 for none
	startReported        bool  // the start was reported, or other nodes report it
	endReported          bool  // the end was reported, or other nodes report it
	lastDeadline         int64 // State.ClosesAt when own deadlines were last pushed
	lobbyVersion         int64 // version of the last notice in the lobby
	lobbyNotice          []byte
	lobbyNoticeAt        int64 // when the notice was sent, cluster time

	checkedEndedPlaces int64                 // State.EndedPlaces when no session was without a place
	withoutPlace       map[string]Subscriber // sessions without a place at the last check

	settledNotified     bool  // the sessions here were notified that the result is settled
	settledCheckAt      int64 // when to check whether it is settled, cluster time; 0 before the end was seen
	settledCheckDelayMS int64 // delay before that check
}

func newLocalMatch(view View) *localMatch {
	local := &localMatch{
		plan: view.Plan, state: view.State, version: view.Version, sessions: make(map[string]Subscriber), answerSlot: newAnswerSlot(),
		remoteStepVersion: -1, lastBotsQuestion: -1, lastPersonalQuestion: view.Question, startReported: view.Question >= 0, endReported: view.Phase.hasEnded(),
		lastDeadline: view.ClosesAt, lobbyVersion: view.Version, checkedEndedPlaces: view.EndedPlaces,
	}
	if view.Phase == PhaseOpen || view.Phase == PhaseSealed {
		local.lastPersonalQuestion--
	}
	return local
}

// query returns the read that the rules need. It requests the records and ranks
// of the given players and the pushes after a number (-1: none).
func (l *localMatch) query(after int64, players ...string) ReadQuery {
	query := ReadQuery{Match: l.plan.ID, Players: players, AfterSeq: after, SeenVersion: l.knownVersion(), WantListed: true, WantRanks: true}
	if l.plan.Arena == nil {
		query.Players, query.WantListed, query.WantRanks = l.plan.duelPlayers(), false, false
	}
	return query
}

// knownState returns the newest known state.
func (l *localMatch) knownState() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// knownVersion returns the highest known version, for the store to compare. It
// returns 0 for an abandoned match, which may be read as it is.
func (l *localMatch) knownVersion() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isAbandoned() {
		return 0
	}
	return l.version
}

func (l *localMatch) updateVersion(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = max(l.version, version)
}

// noteRemoteStep records the version after a write of another node, and whether it was a
// step.
func (l *localMatch) noteRemoteStep(version int64, isStep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version <= l.version { // the store may have lost writes that this node knows
		l.duel = duelAnswers{}
	}
	l.version = max(l.version, version)
	if isStep {
		l.remoteStepVersion = max(l.remoteStepVersion, version)
	}
}

// isBehind reports whether the match has progressed beyond the known state, or
// was set back. In a duel every change has a push. In an arena, changes in the
// lobby and an end in the lobby have none, so the version is compared, too.
func (l *localMatch) isBehind(progress Progress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return progress.Seq > l.state.Seq || progress.Version < l.version || l.plan.Arena != nil && progress.Version > l.state.Version
}

// isAbandoned reports whether the match ended because the store lost data of
// it. The caller holds mu.
func (l *localMatch) isAbandoned() bool {
	return l.state.Phase.hasEnded() && l.state.EndReason == ReasonAbandoned
}

// findMember returns a member of an arena that this node has looked up.
func (l *localMatch) findMember(player string) (Member, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	member, ok := l.members[player]
	return member, ok
}

func (l *localMatch) storeMember(member Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members == nil {
		l.members = make(map[string]Member)
	}
	l.members[member.Seat.Player] = member
}

// hasSeat reports whether a player with a session here is known to have a seat. The caller
// holds mu.
func (l *localMatch) hasSeat(player string) bool {
	return l.plan.Arena == nil || l.members[player].Role == PlayerRole
}

// isAttached reports whether a session gets the pushes of the match.
func (l *localMatch) isAttached(player string, session Subscriber) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[player] == session
}

// playerSessions returns the sessions at this node whose players have a seat.
func (l *localMatch) playerSessions() map[string]Subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	sessions := maps.Clone(l.sessions)
	maps.DeleteFunc(sessions, func(player string, _ Subscriber) bool { return !l.hasSeat(player) })
	return sessions
}

// waitsForPresentHost reports whether an arena waits for its host to open a question, and
// the host has a session at this node, in any role.
func (l *localMatch) waitsForPresentHost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.HostPaced && (l.state.Phase == PhaseCountdown || l.state.Phase == PhaseRevealed) && l.sessions[l.plan.Arena.Host] != nil
}

// stopAndListPlayers stops the timer and returns the players with a session.
func (l *localMatch) stopAndListPlayers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	return slices.Collect(maps.Keys(l.sessions))
}
