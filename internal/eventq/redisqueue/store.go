package redisqueue

import (
	"embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/redisx"
)

const (
	// keepLateMS is how long a list stays after its last item is stale, and a
	// batch after its lease. Late items are then still counted with their real
	// reason.
	keepLateMS = 60_000
	// repeatMS is how long a push may be repeated. lastPushMS is the same for the
	// pushes of a producer, which repeats them for as long as the store is unreachable.
	repeatMS   = 60_000
	lastPushMS = 3_600_000
	// longestCoolMS is more than any cool-down. longestLeaseMS is more than any
	// lease. clockSkewMS is more than the clocks of two nodes differ.
	longestCoolMS  = 2 * 3_600_000
	longestLeaseMS = 60_000
	clockSkewMS    = 5000
)

//go:embed *.lua
var sources embed.FS

var (
	pushScript     = script("queue", "push")
	takeScript     = script("queue", "pop", "take")
	finishScript   = script("queue", "finish")
	maintainScript = script("queue", "maintain")
	dropScript     = script("pop", "drop")
	dueScript      = script("due")
	statusScript   = script("status")
)

func script(files ...string) *redis.Script {
	return redis.NewScript(redisx.JoinScript(sources, files...))
}

// Store is safe for concurrent use.
type Store struct {
	client  redis.UniversalClient
	maxSeen int // of a game: ids that are remembered
}

// New returns a store. If the client combines concurrent EVALSHA commands in one
// round trip, the calls for pushes, takes and finished batches share round trips.
func New(client redis.UniversalClient) *Store { return &Store{client: client, maxSeen: 1_000_000} }

// Partitions implements eventq.Queue.
func (s *Store) Partitions() int { return partitions }

// Partition implements eventq.Queue.
func (s *Store) Partition(game string) int { return partitionOf(game) }

// queueArgs returns ARGV 1 to 7 of the scripts that run after queue.lua, with
// capacity for more.
func queueArgs(t eventq.Policy, now int64, more int) []any {
	interval := 0.0
	if t.PerSecond > 0 {
		interval = 1000 / t.PerSecond
	}
	return append(make([]any, 0, 7+more), now, t.Game, t.BatchSize, t.FlushMS, interval, max(1, t.Burst), t.MaxLen)
}

// queueTTL is how long the list of a game stays after the last push, in ms.
func queueTTL(t eventq.Policy) int64 { return t.MaxAgeMS + keepLateMS }

// counter is the field of a hash that counts items dropped for a reason.
func counter(r eventq.Reason) string { return dropPrefix + string(r) }

const dropPrefix = "d:"

func wrapError(operation string, err error) error {
	if err != nil {
		return fmt.Errorf("redisqueue: %s: %w", operation, err)
	}
	return nil
}
