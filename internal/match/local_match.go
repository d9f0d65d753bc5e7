package match

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"laststand/internal/timer"
)

// localMatch is the copy of a match that this node holds: its plan, the known
// state, its timer, and the sessions of its players that get the numbered
// pushes.
type localMatch struct {
	plan        *Plan
	replay      logCopy
	race        raceSlot // buzzer only
	members     memberCache
	lobbyNotice lobbyNotifier
	settled     settledCheck
	placesCheck placesCheck
	catchingUp  atomic.Bool // a read of missed pushes is scheduled

	mu                   sync.Mutex // locked before the registry's mutex; never held during store calls
	state                State      // newest known state; its Seq is the last push delivered here
	version              int64      // highest known version
	remoteStepVersion    int64      // version of the newest step of another node; -1 for none
	sessions             map[string]Subscriber
	attachingSessions    int      // number of sessions that are being attached
	recentFrames         [][]byte // pushes delivered since the first of those began; the last has number state.Seq
	timer                timer.Timer
	lastBotsQuestion     int   // last question that bots were scheduled for; -1 for none
	lastPersonalQuestion int   // last question whose personal results were sent; -1 for none
	startReported        bool  // the start was reported, or other nodes report it
	endReported          bool  // the end was reported, or other nodes report it
	hostReportedAt       int64 // when this node last reported the host as present, cluster time
}

func newLocalMatch(view View) *localMatch {
	local := &localMatch{
		plan: view.Plan, state: view.State, version: view.Version, sessions: make(map[string]Subscriber),
		remoteStepVersion: -1, lastBotsQuestion: -1, lastPersonalQuestion: view.Question, startReported: view.Question >= 0, endReported: view.Phase.hasEnded(),
		lobbyNotice: lobbyNotifier{sentVersion: view.Version}, placesCheck: placesCheck{checkedEnded: view.EndedPlaces},
	}
	if view.Phase == PhaseOpen || view.Phase == PhaseSealed {
		local.lastPersonalQuestion--
	}
	local.replay.loading = make(chan struct{}, 1)
	if local.plan.Mode == Buzzer {
		local.race = newRaceSlot()
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

// noteRemoteStep records the version after a step of another node. The state is
// nil if the message contained none.
func (l *localMatch) noteRemoteStep(state *State) {
	if state == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remoteStepVersion = max(l.remoteStepVersion, state.Version)
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

// stopAndListPlayers stops the timers and returns the players with a session.
func (l *localMatch) stopAndListPlayers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.lobbyNotice.timer.Stop()
	return slices.Collect(maps.Keys(l.sessions))
}
