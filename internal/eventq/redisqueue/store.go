// Package redisqueue keeps the queues of behaviours in Redis. All keys of a
// partition share one hash tag, so that every move is one script, which counts
// in the same step. It implements eventq.Queue, eventq.Desk and
// eventq.Nodes.
package redisqueue

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/lua"
)

const (
	// staleMS is how long a list outlives its last item's freshness, and a batch
	// its lease: what is late is counted for what it is.
	keepLateMS = 60_000
	// onceMS is how long a call may be repeated.
	repeatMS = 60_000
	// longestCoolMS is more than any cool-down, longestLeaseMS than any lease,
	// apartMS than what the clocks of two nodes are apart.
	longestCoolMS  = 2 * 3_600_000
	longestLeaseMS = 60_000
	clockSkewMS    = 5000
)

//go:embed *.lua
var sources embed.FS

var (
	pushScript        = script("fast_path", "fast_push", "counts", "game", "bundles", "lines", "shift", "policy", "deduplicate", "fit", "push")
	pushSeveralScript = script("fast_path", "push_several")
	takeScript        = script("counts", "game", "bundles", "lines", "shift", "policy", "deal", "take")
	acquireScript     = script("counts", "game", "bundles", "lines", "shift", "policy", "acquire")
	finishSentScript  = script("counts", "finish_sent")
	finishScript      = script("counts", "finish")
	requeueScript     = script("counts", "game", "bundles", "lines", "shift", "policy", "finish", "requeue")
	maintainScript    = script("counts", "game", "bundles", "lines", "shift", "policy", "stale", "maintain")

	reapScript      = script("counts", "reap")
	setMaxLenScript = script("counts", "game", "bundles", "lines", "shift", "set_max_len")
	discardScript   = script("counts", "game", "bundles", "lines", "shift", "discard")
	flushNowScript  = script("counts", "game", "flush_now")
	resumeScript    = script("counts", "game", "resume", "flush_now")

	pauseScript         = script("pause")
	recordFailureScript = script("record_failure")
	dueScript           = script("due")
	statusScript        = script("status")
	peekScript          = script("peek")
	heartbeatScript     = script("heartbeat")
)

func script(files ...string) *redis.Script { return redis.NewScript(lua.Join(sources, files...)) }

// Store is safe for concurrent use.
type Store struct {
	client  redis.UniversalClient
	maxSeen int // of a game: ids that are remembered
}

// New makes a store. With a client whose EVALSHA share round trips concurrent
// calls do: all but Totals, Bye, and the search of Reap are such.
func New(client redis.UniversalClient) *Store { return &Store{client: client, maxSeen: 1_000_000} }

// Partitions implements eventq.Queue.
func (s *Store) Partitions() int { return partitions }

// Partition implements eventq.Queue.
func (s *Store) Partition(game string) int { return partitionOf(game) }

// do runs a script that returns nothing.
func (s *Store) run(ctx context.Context, operation string, sc *redis.Script, keys []string, args ...any) error {
	if err := sc.Run(ctx, s.client, keys, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("redisqueue: %s: %w", operation, err)
	}
	return nil
}

// termArgs are ARGV 1 to 8 of game.lua and terms.lua, with room for more.
func policyArgs(t eventq.Policy, now int64, more int) []any {
	args := make([]any, 0, 8+more)
	return append(args, t.Game, now, t.BatchSize, t.FlushMS, t.PerSecond, max(1, t.Burst), t.MaxLen, t.MaxAgeMS+keepLateMS)
}

// counter is the field of a hash that counts what was dropped for a reason.
func counter(r eventq.Reason) string { return dropPrefix + string(r) }

const dropPrefix = "d:"
