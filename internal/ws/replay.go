package ws

import (
	"time"

	"laststand/internal/protocol"
)

const (
	// longReplay is the size from which a replay of a match's pushes is long.
	longReplay = 64 << 10
	// replayEvery is the time between two long replays on one connection, more
	// where the first was over replayEvery times replayPerSecond.
	replayEvery     = 5 * time.Second
	replayPerSecond = 64 << 10
	// replayPerToken is how many bytes of a replay cost one message.
	replayPerToken = 4 << 10
)

// mayReplay refuses a long replay that comes too soon after another, and charges
// the session's bucket by the size. A connection's first one always passes.
func (se *session) mayReplay(bytes int64) error {
	now := sinceStart()
	if bytes > longReplay {
		if wait := se.replay - now; wait > 0 && se.server.Limits.Messages.Stands() {
			return protocol.RetryAfter(protocol.CodeRateLimited, max(wait.Milliseconds(), 1),
				"a long replay of a match comes at most every %v; ask from the last seq that you have seen", replayEvery)
		}
		se.replay = now + max(replayEvery, time.Duration(bytes)*time.Second/replayPerSecond)
	}
	se.pace.charge(now, se.server.PerSecond, float64(bytes)/replayPerToken)
	return nil
}
