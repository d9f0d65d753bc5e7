package ws

import (
	"context"
	"sync"
	"time"

	"laststand/internal/overload"
	"laststand/internal/protocol"
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

// checkReplay refuses a long replay too soon after another of the same player, or if the
// client's address has used its limit of replays. bytes is the size of the replay. An
// allowed replay charges the session's bucket by its size. A new connection does not
// reset the times. Otherwise a client that reconnects and resumes would get a whole match
// log each time.
func (r *requests) checkReplay(bytes int64) error {
	now := sinceStart()
	if bytes > longReplayBytes && r.server.Limits.MessageCap.Refuse() {
		interval := max(longReplayInterval, time.Duration(bytes)*time.Second/longReplayBytesPerSecond)
		player := r.playerKey()
		if wait := r.server.longReplays.reserve(player, now, interval); wait > 0 {
			return protocol.RetryAfter(protocol.CodeRateLimited, max(wait.Milliseconds(), 1),
				"a long replay of a match is possible every %v; send the seq of the last push that you have seen", longReplayInterval)
		}
		err := r.server.Limits.Replays.Take(context.Background(), r.addressKey(), int(bytes/bytesPerKiB))
		if err != nil {
			r.server.longReplays.cancel(player)
			return err
		}
	}
	r.limiter.charge(now, r.server.MessagesPerSecond, float64(bytes)/replayBytesPerToken)
	return nil
}

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
