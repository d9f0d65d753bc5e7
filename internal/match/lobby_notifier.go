package match

import (
	"sync"
	"time"

	"laststand/internal/timer"
)

// lobbyNoticeInterval is the shortest interval between two notices to the players
// in an arena's lobby.
const lobbyNoticeInterval = 500 * time.Millisecond

// lobbyNotifier limits the rate of the notices with the player counts of a lobby, and
// makes sure that the last change is sent.
type lobbyNotifier struct {
	timer timer.Timer // runs the next notice

	mu          sync.Mutex
	scheduled   bool  // a notice is scheduled or being sent
	changed     bool  // something changed since the current notice started
	notifyNodes bool  // the next notice must also notify other nodes
	sentAt      int64 // last notice, cluster time
	sentVersion int64 // version of the match in the last notice
}

// schedule returns the wait until the next notice. It returns false if none is needed
// or one is scheduled: version is the known one of the match; changed reports that
// something else has changed.
func (n *lobbyNotifier) schedule(version int64, changed bool, now int64) (wait time.Duration, needed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !changed && version <= n.sentVersion {
		return 0, false
	}
	if n.scheduled {
		n.changed = true
		return 0, false
	}
	n.scheduled = true
	wait = time.Duration(n.sentAt-now)*time.Millisecond + lobbyNoticeInterval
	return max(wait, time.Millisecond), true
}

// requestNodes makes the next notice notify other nodes, too.
func (n *lobbyNotifier) requestNodes() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notifyNodes = true
}

// start starts a notice and reports whether other nodes must be notified.
func (n *lobbyNotifier) start() (notifyNodes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	notifyNodes = n.notifyNodes
	n.changed, n.notifyNodes = false, false
	return notifyNodes
}

// end ends a notice about a version of the match. It reports whether something has
// changed since the start.
func (n *lobbyNotifier) end(version, now int64) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.scheduled, n.sentAt, n.sentVersion = false, now, max(n.sentVersion, version)
	return n.changed
}
