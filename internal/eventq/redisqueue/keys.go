package redisqueue

import (
	"hash/fnv"
	"strconv"
)

// partitions is how many hash tags the queues spread over. The name of a game
// determines its partition, which never changes.
const partitions = 64

// The keys of a partition share a hash tag, {b:P}, so that one script moves items
// and counts them.
//
//	{b:P}:bundles:GAME   list: the queue, bundles of items, the oldest first, see
//	                     pop.lua; it expires
//	{b:P}:game:GAME      hash: the counters offered, sent, in_flight and d:REASON;
//	                     queued, the items in the list after the last script;
//	                     rate_at, see queue.lua; cool_until; flush_before: items that
//	                     were queued by then are due; max_len, set by an operator;
//	                     paused, why; error, error_at
//	{b:P}:seen:GAME      zset: id of a unique item → when it was queued; it expires
//	{b:P}:taken:GAME     zset: BATCH COUNT → end of the lease
//	{b:P}:due            zset: game → when a take is due: for its items, or as a lease
//	                     ends
//	{b:P}:batch:BATCH    list: its bundles and result, see take.lua; it expires
//	{b:P}:last_push:FROM hash: game → 'ID VERDICT' of the last push of a producer; it
//	                     expires
//	{b}:nodes            zset: node → its last heartbeat
//	{b}:sessions:NODE    hash: session id → record; it expires

const nodesKey = "{b}:nodes"

func sessionsKey(node string) string { return "{b}:sessions:" + node }

func partitionOf(game string) int {
	h := fnv.New32a()
	h.Write([]byte(game))
	return int(h.Sum32() % partitions)
}

// partition is the prefix of a partition's keys.
type partition string

func newPartition(number int) partition { return partition("{b:" + strconv.Itoa(number) + "}:") }

func gamePartition(game string) partition { return newPartition(partitionOf(game)) }

func (p partition) due() string                   { return string(p) + "due" }
func (p partition) batch(id string) string        { return string(p) + "batch:" + id }
func (p partition) lastPushes(from string) string { return string(p) + "last_push:" + from }
func (p partition) queue(game string) string      { return string(p) + "bundles:" + game }
func (p partition) state(game string) string      { return string(p) + "game:" + game }
func (p partition) seen(game string) string       { return string(p) + "seen:" + game }
func (p partition) taken(game string) string      { return string(p) + "taken:" + game }

// queueKeys returns KEYS 1 to 4 of the scripts that run after queue.lua, and more keys.
func (p partition) queueKeys(game string, more ...string) []string {
	return append(append(make([]string, 0, 6), p.due(), p.queue(game), p.state(game), p.taken(game)), more...)
}
