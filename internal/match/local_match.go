package match

import (
	"maps"
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
	seen                 Seen       // what this node has seen
	duel                 duelAnswers
	ownStepVersion       int64 // version after the newest step of this node; 0 for none
	remoteStepVersion    int64 // the same of other nodes
	sessions             sessionSet
	members              memberCache
	timer                timer.Timer
	isUnused             bool // result of the last check of dropUnused
	isDropped            bool // this node has released the match: it gets no session and no timer any more
	isCatchUpScheduled   bool
	lastBotsQuestion     int   // last question that bots were scheduled for; -1 for none
	lastPersonalQuestion int   // last question whose personal results were sent; -1 for none
	startReported        bool  // the start was reported, or other nodes report it
	endReported          bool  // the end was reported, or other nodes report it
	lastDeadline         int64 // State.ClosesAt when own deadlines were last pushed
	lobby                lobbyNotice

	checkedEndedPlaces int64                 // State.EndedPlaces when no session was without a place
	withoutPlace       map[string]Subscriber // sessions without a place at the last check

	settled settledCheck
}

// sessionSet has the sessions of players at this node, by player.
type sessionSet map[string]Subscriber

// push pushes frames without numbers to every session.
func (s sessionSet) push(frames ...[]byte) {
	for _, session := range s {
		session.Push("", frames...)
	}
}

func newLocalMatch(view View) *localMatch {
	local := &localMatch{
		plan: view.Plan, state: view.State, seen: Seen{Version: view.Version}, sessions: make(sessionSet), answerSlot: newAnswerSlot(),
		lastBotsQuestion: -1, lastPersonalQuestion: view.Question, startReported: view.Question >= 0, endReported: view.Phase.hasEnded(),
		lastDeadline: view.ClosesAt, lobby: lobbyNotice{version: view.Version}, checkedEndedPlaces: view.EndedPlaces,
	}
	if view.Phase == PhaseOpen || view.Phase == PhaseSealed {
		local.lastPersonalQuestion--
	}
	return local
}

// query returns the read that the rules need. It requests the records and ranks
// of the given players and the pushes after a number (-1: none).
func (l *localMatch) query(after int64, players ...string) ReadQuery {
	query := ReadQuery{Match: l.plan.ID, Players: players, AfterSeq: after, Seen: l.knownSeen(), WantListed: true, WantRanks: true}
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

// mayTakeAnswer reports whether this node holds the match and does not know that a question is
// closed.
func (l *localMatch) mayTakeAnswer(question int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.isDropped && !l.state.isClosed(question)
}

// knownSeen returns what this node has seen, for the store to compare. It returns no
// versions of an abandoned match, which may be read as it is.
func (l *localMatch) knownSeen() Seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.isAbandoned() {
		return Seen{Node: l.seen.Node}
	}
	return l.seen
}

// noteReply records the version of the reply to an answer.
func (l *localMatch) noteReply(outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Version = max(l.seen.Version, outcome.Version)
	if outcome.IsNew {
		l.seen.addWrite(outcome.Version)
	}
}

// noteRemoteStep records the version after a write of another node, whose last push has the
// number lastSeq, and whether it was a step. It reports whether both are older than a write
// of this node: the message is late, or the store has lost that write.
func (l *localMatch) noteRemoteStep(version, lastSeq int64, isStep bool) (isOld bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	isOld = version <= l.seen.Written && lastSeq <= l.state.Seq
	l.seen.Version = max(l.seen.Version, version)
	if isStep {
		l.remoteStepVersion = max(l.remoteStepVersion, version)
	}
	return isOld
}

// isBehind reports whether the match has progressed beyond the known state, or
// was set back. In an arena, changes in the lobby and an end in the lobby have no push.
// Therefore the version of the known state is compared, too.
func (l *localMatch) isBehind(progress Progress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.seen.Version
	if l.plan.Arena != nil {
		known = l.state.Version
	}
	return progress.Seq > l.state.Seq || progress.Version < l.seen.Version || progress.Version > known
}

// hasSeat reports whether a player with a session here is known to have a seat.
func (l *localMatch) hasSeat(player string) bool {
	return l.plan.Arena == nil || l.members.find(player).Role == PlayerRole
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

// memberCache has the members of an arena that this node has looked up. It is safe for
// concurrent use.
type memberCache struct {
	mu       sync.Mutex
	byPlayer map[string]Member // nil for a duel
}

// find returns a member, without a role if it is unknown.
func (c *memberCache) find(player string) Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byPlayer[player]
}

func (c *memberCache) store(member Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPlayer == nil {
		c.byPlayer = make(map[string]Member)
	}
	c.byPlayer[member.Seat.Player] = member
}

func (c *memberCache) remove(player string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byPlayer, player)
}
