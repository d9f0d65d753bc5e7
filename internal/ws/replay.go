package ws

import (
	"context"
	"sync"
	"time"

	"laststand/internal/limit"
	"laststand/internal/protocol"
)

const (
	// longReplayBytes is the size above which a replay of a match's pushes counts as long.
	longReplay = 64 << 10
	// longReplayInterval is the least time between two long replays of one player. After a
	// large replay the time is longer: its size divided by longReplayBytesPerSecond.
	replayEvery     = 5 * time.Second
	replayPerSecond = 64 << 10
	// bytesPerKiB converts bytes to KiB, the unit of Limits.Replays.
	replayKiB = 1 << 10
	// replayBytesPerToken is how many bytes of a replay cost one token of the session's
	// bucket.
	replayPerToken = 4 << 10
	// maxRememberedReplays is for how many players a node remembers the next long replay.
	maxReplayTimes = 65_536
)

// checkReplay refuses a long replay too soon after another of the same player, or if the
// client's address has used its limit of replays. bytes is the size of the replay. An
// allowed replay charges the session's bucket by its size. A new connection does not
// reset the times. Otherwise a client that reconnects and resumes would get a whole match
// log each time.
func (se *session) checkReplay(bytes int64) error {
	now := sinceStart()
	if bytes > longReplay && se.server.Limits.MessageCap.Refuse() {
		every := max(replayEvery, time.Duration(bytes)*time.Second/replayPerSecond)
		player := limit.Named(se.game, se.player)
		if wait := se.server.replays.allow(player, now, every); wait > 0 {
			return protocol.RetryAfter(protocol.CodeRateLimited, max(wait.Milliseconds(), 1),
				"a long replay of a match is possible every %v; send the seq of the last push that you have seen", replayEvery)
		}
		err := se.server.Limits.Replays.Take(context.Background(), se.addressKey(), int(bytes/replayKiB))
		if err != nil {
			se.server.replays.undo(player)
			return err
		}
	}
	se.limiter.charge(now, se.server.PerSecond, float64(bytes)/replayPerToken)
	return nil
}

// longReplayTimes holds when each player may get the next long replay. It is safe for
// concurrent use.
type replayTimes struct {
	mu   sync.Mutex
	next map[limit.Key]time.Duration // by player; since processStart
}

// reserve allows a long replay now: it stores that the player's next one is possible
// after interval, and returns 0. Otherwise it returns how long the player must wait. If
// it remembers maxRememberedReplays players already, all other players must wait.
func (r *replayTimes) allow(player limit.Key, now, every time.Duration) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, known := r.next[player]
	if known && next > now {
		return next - now
	}
	if !known && len(r.next) >= maxReplayTimes && !r.removeExpired(now) {
		return replayEvery
	}
	if r.next == nil {
		r.next = make(map[limit.Key]time.Duration)
	}
	r.next[player] = now + every
	return 0
}

// cancel removes the time that reserve has stored, for a replay that is not sent.
func (r *replayTimes) undo(player limit.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, player)
}

// removeExpired removes the players who may get a long replay again. It returns true if
// it has removed any.
func (r *replayTimes) removeExpired(now time.Duration) bool {
	before := len(r.next)
	for player, next := range r.next {
		if next <= now {
			delete(r.next, player)
		}
	}
	return len(r.next) < before
}
