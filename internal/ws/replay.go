package ws

import (
	"sync"
	"time"

	"laststand/internal/overload"
)

const (
	// longReplayBytes is the size above which a replay of a match's pushes counts as long.
	longReplayBytes = 64 << 10
	// longReplayInterval is the least time between two long replays of one player. After a
	// large replay the time is longer: its size divided by longReplayBytesPerSecond.
	longReplayInterval       = 5 * time.Second
	longReplayBytesPerSecond = 64 << 10
	// bytesPerKiB converts bytes to KiB, the unit of Limits.Replays.
	bytesPerKiB = 1 << 10
	// replayBytesPerToken is how many bytes of a replay cost one token of the session's
	// bucket.
	replayBytesPerToken = 4 << 10
	// maxRememberedReplays is for how many players a node remembers the next long replay.
	maxRememberedReplays = 65_536
)

// longReplayTimes holds when each player may get the next long replay. It is safe for
// concurrent use.
type longReplayTimes struct {
	mu          sync.Mutex
	nextAllowed map[overload.Key]time.Duration // by player; since processStart
}

// reserve allows a long replay now: it stores that the player's next one is possible
// after interval, and returns 0. Otherwise it returns how long the player must wait. If
// it remembers maxRememberedReplays players already, all other players must wait.
func (r *longReplayTimes) reserve(player overload.Key, now, interval time.Duration) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	nextAt, known := r.nextAllowed[player]
	if known && nextAt > now {
		return nextAt - now
	}
	if !known && len(r.nextAllowed) >= maxRememberedReplays && !r.removeExpired(now) {
		return longReplayInterval
	}
	if r.nextAllowed == nil {
		r.nextAllowed = make(map[overload.Key]time.Duration)
	}
	r.nextAllowed[player] = now + interval
	return 0
}

// cancel removes the time that reserve has stored, for a replay that is not sent.
func (r *longReplayTimes) cancel(player overload.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nextAllowed, player)
}

// removeExpired removes the players who may get a long replay again. It returns true if
// it has removed any.
func (r *longReplayTimes) removeExpired(now time.Duration) bool {
	before := len(r.nextAllowed)
	for player, nextAt := range r.nextAllowed {
		if nextAt <= now {
			delete(r.nextAllowed, player)
		}
	}
	return len(r.nextAllowed) < before
}
