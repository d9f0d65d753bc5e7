package match

import (
	"maps"
	"slices"
	"sync"

	"laststand/internal/timer"
)

// live is a match as this node holds it: its plan, what it knows of its
// state, its timer, and its feed: the numbered pushes on their way to the
// sessions of its players at this node.
type live struct {
	plan   *Plan
	racing chan struct{} // of a buzzer match: held by the answer that tries to be the first here
	replay replay

	mu      sync.Mutex // taken before the engine's; never held while the store is asked
	state   State      // the newest seen here; its Seq is the last number delivered
	version int64      // the highest seen
	theirs  int64      // that of the newest step that another node took; -1 for none
	subs    map[string]Subscriber
	members map[string]Member // of an arena, as far as they have been looked up; nil: none has
	joining int               // sessions that are about to be attached
	fresh   [][]byte          // delivered since the first of those began; the last is number state.Seq
	reading bool              // what was missed is about to be read
	timer   timer.Timer
	bots    int     // question that the bots were set on last; -1 for none
	records records // of the newest question, where they are few enough to be told with the reveal
	own     int     // question that the players here were last told their own of; -1 for none
	taken   int     // question that is known to be won; -1 for none
	begun   bool    // its start was told here, or is left to others
	ceased  bool    // its end was, or is
	lobby   notice
	hostAt  int64                 // when the store was last told that the host is here
	ended   int64                 // places that had ended when all who are fed here had one
	told    bool                  // the players here, that the result is settled
	askAt   int64                 // when to look whether it is; 0 before it is over
	askIn   int64                 // ms from one look to the next
	absent  map[string]Subscriber // who is fed here and had none when looked for last
}

func newLive(v View) *live {
	l := &live{
		plan: v.Plan, state: v.State, version: v.Version, subs: make(map[string]Subscriber),
		theirs: -1, bots: -1, own: v.Question, taken: -1, begun: v.Question >= 0, ceased: v.Phase.ended(),
		lobby: notice{version: v.Version}, ended: v.Ended,
	}
	if v.Phase == Open || v.Phase == Sealed {
		l.own--
	}
	l.replay.loading = make(chan struct{}, 1)
	if l.plan.Mode == Buzzer {
		l.racing = make(chan struct{}, 1)
	}
	return l
}

// known is the newest state seen here.
func (l *live) known() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// seen is the highest version seen here, see notes one. What is abandoned may
// be read as it is.
func (l *live) seen() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned() {
		return 0
	}
	return l.version
}

func (l *live) see(version int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = max(l.version, version)
}

// learn sees what has become of an attempt.
func (l *live) learn(out Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = max(l.version, out.Version)
	if out.Verdict == Accepted {
		l.remember(out.Record)
	}
}

// afterTheirsMS is how long after its deadline a step is left to the node that took
// the one before, which is most likely at it: else every node that has players of a
// match reads it in vain. A question that opens so late still opens when it was due
// (lateMS).
const afterTheirsMS = 50

// heard notes the state that a step of another node has led to; nil for none.
func (l *live) heard(s *State) {
	if s == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.theirs = max(l.theirs, s.Version)
}

// mine is when the next step is this node's to take. The caller holds mu.
func (l *live) mine() int64 {
	if l.state.Version == l.theirs {
		return l.state.DueAt + afterTheirsMS
	}
	return l.state.DueAt
}

// behind says whether a match has come further than is known of it here, or
// has been set back. All that happens in a duel is pushed; who comes and goes
// in a lobby is not, nor is its end there.
func (l *live) behind(m Mark) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return m.Seq > l.state.Seq || m.Version < l.version || l.plan.Arena != nil && m.Version > l.state.Version
}

// abandoned says whether the match has ended here because the store has
// forgotten something of it. The caller holds mu.
func (l *live) abandoned() bool { return l.state.Phase.ended() && l.state.Ending == Abandoned }

// release stops the timers and tells who was fed.
func (l *live) release() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	l.lobby.stop()
	return slices.Collect(maps.Keys(l.subs))
}
