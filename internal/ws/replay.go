package ws

import (
	"context"
	"sync"
	"time"

	"laststand/internal/limit"
	"laststand/internal/protocol"
)

const (
	// longReplay is the size from which a replay of a match's pushes is long.
	longReplay = 64 << 10
	// replayEvery is the time between two long replays of one player, more if the
	// first was over replayEvery times replayPerSecond.
	replayEvery     = 5 * time.Second
	replayPerSecond = 64 << 10
	// replayKiB is the size of a long replay's unit in Limits.Replays.
	replayKiB = 1 << 10
	// replayPerToken is how many bytes of a replay cost one message.
	replayPerToken = 4 << 10
	// maxReplayTimes bounds the players whose next long replay a node remembers.
	maxReplayTimes = 65_536
)

// mayReplay refuses a long replay that comes too soon after another of the same
// player, or after too many of its address, and charges the session's bucket by the
// size. A new connection does not begin anew: else reconnecting with resume would
// get a whole log each time.
func (se *session) mayReplay(bytes int64) error {
	now := sinceStart()
	if bytes > longReplay && se.server.Limits.Messages.Stands() {
		every := max(replayEvery, time.Duration(bytes)*time.Second/replayPerSecond)
		player := limit.Named(se.game, se.player)
		if wait := se.server.replays.take(player, now, every); wait > 0 {
			return protocol.RetryAfter(protocol.CodeRateLimited, max(wait.Milliseconds(), 1),
				"a long replay of a match comes at most every %v; ask from the last seq that you have seen", replayEvery)
		}
		err := se.server.Limits.Replays.Take(context.Background(), se.from(), int(bytes/replayKiB))
		if err != nil {
			se.server.replays.giveBack(player)
			return err
		}
	}
	se.pace.charge(now, se.server.PerSecond, float64(bytes)/replayPerToken)
	return nil
}

// replayTimes says when each player may get the next long replay. It is safe for
// concurrent use.
type replayTimes struct {
	mu   sync.Mutex
	next map[limit.Key]time.Duration // since started
}

// take allows a long replay, and the next one after a while, or says how long the
// player must wait. If it remembers as many players as it may, others wait too.
func (r *replayTimes) take(player limit.Key, now, every time.Duration) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, known := r.next[player]
	if known && next > now {
		return next - now
	}
	if !known && len(r.next) >= maxReplayTimes && !r.forget(now) {
		return replayEvery
	}
	if r.next == nil {
		r.next = make(map[limit.Key]time.Duration)
	}
	r.next[player] = now + every
	return 0
}

// giveBack undoes a take of a replay that was not sent.
func (r *replayTimes) giveBack(player limit.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, player)
}

// forget removes the players who may have a replay again, and says whether there
// were any.
func (r *replayTimes) forget(now time.Duration) bool {
	before := len(r.next)
	for player, next := range r.next {
		if next <= now {
			delete(r.next, player)
		}
	}
	return len(r.next) < before
}
