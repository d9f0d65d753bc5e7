package ws

import (
	"context"
	"sync"
	"time"

	"laststand/internal/limit"
	"laststand/internal/protocol"
)

const (
	// longReplay is the size in bytes from which a replay of a match's pushes counts as
	// long.
	longReplay = 64 << 10
	// replayEvery is the time between two long replays of one player. It is longer if
	// the first had more than replayEvery times replayPerSecond bytes.
	replayEvery     = 5 * time.Second
	replayPerSecond = 64 << 10
	// replayKiB is the unit of Limits.Replays, in bytes.
	replayKiB = 1 << 10
	// replayPerToken is how many bytes of a replay take one token.
	replayPerToken = 4 << 10
	// maxReplayTimes bounds the players whose next long replay a node remembers.
	maxReplayTimes = 65_536
)

// checkReplay refuses a long replay too soon after another of the same player, or after
// too many of the same address. It charges the session's bucket by the size. A new
// connection does not reset the times: a client that reconnects and resumes would get a
// whole log each time.
func (se *session) checkReplay(bytes int64) error {
	now := sinceStart()
	if bytes > longReplay && se.server.Limits.MessageCap.Refuse() {
		every := max(replayEvery, time.Duration(bytes)*time.Second/replayPerSecond)
		player := limit.Named(se.game, se.player)
		if wait := se.server.replays.allow(player, now, every); wait > 0 {
			return protocol.RetryAfter(protocol.CodeRateLimited, max(wait.Milliseconds(), 1),
				"a long replay of a match is possible every %v; ask from the last seq that you have seen", replayEvery)
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

// replayTimes holds when each player may get the next long replay. It is safe for
// concurrent use.
type replayTimes struct {
	mu   sync.Mutex
	next map[limit.Key]time.Duration // since started
}

// allow returns 0 and sets the time of the player's next long replay, or returns how
// long the player must wait. If it remembers maxReplayTimes players, all others wait.
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

// undo removes the time that allow has set, for a replay that was not sent.
func (r *replayTimes) undo(player limit.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, player)
}

// removeExpired removes the players who may get a replay again, and returns true if
// there were any.
func (r *replayTimes) removeExpired(now time.Duration) bool {
	before := len(r.next)
	for player, next := range r.next {
		if next <= now {
			delete(r.next, player)
		}
	}
	return len(r.next) < before
}
