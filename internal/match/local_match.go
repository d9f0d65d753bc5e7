package match

import (
	"maps"
	"slices"
	"sync"

	"laststand/internal/timer"
)

// localMatch is a match as this node holds it: its plan, what it knows of its
// state, its timer, and its feed: the numbered pushes on their way to the
// sessions of its players at this node.
type localMatch struct {
	plan     *Plan
	raceSlot chan struct{} // of a buzzer match: held by the answer that tries to be the first here
	replay   replay

	mu                 sync.Mutex // taken before the engine's; never held while the store is asked
	state              State      // the newest seen here; its Seq is the last number delivered
	version            int64      // the highest seen
	remoteStepVersion  int64      // that of the newest step that another node took; -1 for none
	subs               map[string]Subscriber
	members            map[string]Member // of an arena, as far as they have been looked up; nil: none has
	attaching          int               // sessions that are about to be attached
	recentFrames       [][]byte          // delivered since the first of those began; the last is number state.Seq
	catchingUp         bool              // what was missed is about to be read
	timer              timer.Timer
	botsQuestion       int             // question that the bots were set on last; -1 for none
	records            acceptedRecords // of the newest question, where they are few enough to be told with the reveal
	personalQuestion   int             // question that the players here were last told their own of; -1 for none
	wonQuestion        int             // question that is known to be won; -1 for none
	startReported      bool            // its start was told here, or is left to others
	endReported        bool            // its end was, or is
	lobbyNotice        lobbyNotifier
	hostReportedAt     int64                 // when the store was last told that the host is here
	checkedEndedPlaces int64                 // places that had ended when all who are fed here had one
	settledNotified    bool                  // the players here, that the result is settled
	settledCheckAt     int64                 // when to look whether it is; 0 before it is over
	settledCheckInMS   int64                 // ms from one look to the next
	withoutPlace       map[string]Subscriber // who is fed here and had none when looked for last
}

func newLocalMatch(v View) *localMatch {
	l := &localMatch{
		plan: v.Plan, state: v.State, version: v.Version, subs: make(map[string]Subscriber),
		remoteStepVersion: -1, botsQuestion: -1, personalQuestion: v.Question, wonQuestion: -1, startReported: v.Question >= 0, endReported: v.Phase.hasEnded(),
		lobbyNotice: lobbyNotifier{sentVersion: v.Version}, checkedEndedPlaces: v.EndedPlaces,
	}
	if v.Phase == Open || v.Phase == Sealed {
		l.personalQuestion--
	}
	l.replay.loading = make(chan struct{}, 1)
	if l.plan.Mode == Buzzer {
		l.raceSlot = make(chan struct{}, 1)
	}
	return l
}

// knownState is the newest state seen here.
func (l *localMatch) knownState() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// knownVersion is the highest version seen here, see notes one. What is abandoned may
// be read as it is.
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

// noteOutcome sees what has become of an attempt.
func (l *localMatch) noteOutcome(out Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = max(l.version, out.Version)
	if out.Verdict == Accepted {
		l.keepRecord(out.Record)
	}
}

// remoteStepGraceMS is how long after its deadline a step is left to the node that took
// the one before, which is most likely at it: else every node that has players of a
// match reads it in vain. A question that opens so late still opens when it was due
// (lateMS).
const remoteStepGraceMS = 50

// noteRemoteStep notes the state that a step of another node has led to; nil for none.
func (l *localMatch) noteRemoteStep(s *State) {
	if s == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remoteStepVersion = max(l.remoteStepVersion, s.Version)
}

// nextStepAt is when the next step is this node's to take. The caller holds mu.
func (l *localMatch) nextStepAt() int64 {
	if l.state.Version == l.remoteStepVersion {
		return l.state.DueAt + remoteStepGraceMS
	}
	return l.state.DueAt
}

// isBehind says whether a match has come further than is known of it here, or
// has been set back. All that happens in a duel is pushed; who comes and goes
// in a lobby is not, nor is its end there.
func (l *localMatch) isBehind(m Progress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return m.Seq > l.state.Seq || m.Version < l.version || l.plan.Arena != nil && m.Version > l.state.Version
}

// isAbandoned says whether the match has ended here because the store has
// forgotten something of it. The caller holds mu.
func (l *localMatch) isAbandoned() bool {
	return l.state.Phase.hasEnded() && l.state.EndReason == Abandoned
}

// release stops the timers and tells who was fed.
func (l *localMatch) release() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.lobbyNotice.stop()
	return slices.Collect(maps.Keys(l.subs))
}
