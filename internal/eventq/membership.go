package eventq

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"laststand/internal/timer"
)

const (
	heartbeatInterval   = time.Second
	heartbeatGapMS      = 2000
	maintenanceInterval = time.Minute           // of a round over the games of this node, which may take longer
	maintenancePause    = 10 * time.Millisecond // between two games
	maxUnknownGames     = 1000                  // that are looked for in a partition
)

// membership knows which nodes share the work, and maintains the queues of this
// node.
type membership struct {
	*shared
	view    atomic.Pointer[view]
	contact contact // of sendHeartbeat
}

// view is which nodes share the work, as this node last saw it.
type view struct {
	alive []string
	owned []bool // by partition: whether this node sends its games
}

func newMembership(s *shared) *membership {
	m := &membership{shared: s, contact: contact{gapMS: heartbeatGapMS}}
	m.view.Store(&view{owned: make([]bool, len(s.partitions))})
	return m
}

// owns reports whether this node sends the games of a partition. For a moment
// two nodes may own it; then they mix the order of a game's items.
func (m *membership) owns(p *partition) bool { return m.view.Load().owned[p.index] }

// runHeartbeats sends heartbeats and reads which nodes are alive, until the
// context ends. While the store is unreachable all nodes keep their partitions.
func (m *membership) runHeartbeats(ctx context.Context) {
	m.sendHeartbeat(ctx)
	timer.Every(ctx, heartbeatInterval, m.sendHeartbeat)
}

// sendHeartbeat also keeps the former nodes for a while after this node could not
// reach the store. Probably no node could reach it, and none has died. If two nodes
// reported one game, they would mix its order.
func (m *membership) sendHeartbeat(ctx context.Context) {
	calling, cancel := callContext(ctx)
	defer cancel()
	alive, err := m.Nodes.Heartbeat(calling, m.Node, m.Now())
	m.recordError("heartbeat", err)
	if err != nil {
		return
	}
	before := m.view.Load().alive
	if m.contact.observe(m.Now()); !m.contact.lasts(m.Now(), NodeTTLMS) {
		alive = slices.Compact(slices.Sorted(slices.Values(slices.Concat(alive, before))))
	}
	if slices.Equal(alive, before) {
		return
	}
	v := &view{alive: alive, owned: make([]bool, len(m.partitions))}
	for i := range v.owned {
		v.owned[i] = owner(alive, i) == m.Node
	}
	m.view.Store(v)
	for _, p := range m.partitions {
		timer.Wake(p.pollNow)
	}
}

// leave leaves the work to the other nodes.
func (m *membership) leave(ctx context.Context) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	m.recordError("leave", m.Nodes.Leave(ctx, m.Node))
}

// owner returns the node with the highest hash of node and partition
// (rendezvous hashing). When a node comes or goes, no partition moves between
// the others.
func owner(alive []string, partition int) string {
	best, highest := "", uint64(0)
	for _, node := range alive {
		h := fnv.New64a()
		h.Write([]byte(node + "/" + strconv.Itoa(partition)))
		if weight := mixBits(h.Sum64()); best == "" || weight > highest {
			best, highest = node, weight
		}
	}
	return best
}

// mixBits spreads small differences over all bits (the finalizer of
// MurmurHash3).
func mixBits(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// runMaintenance maintains the queues of this node's partitions in slow rounds,
// until the context ends.
func (m *membership) runMaintenance(ctx context.Context) {
	timer.Sleep(ctx, 2*heartbeatInterval) // until the owners are known
	m.maintain(ctx)
	timer.Every(ctx, maintenanceInterval, m.maintain)
}

// maintain makes a round.
func (m *membership) maintain(ctx context.Context) {
	for _, p := range m.partitions {
		for _, policy := range m.ownPolicies(ctx, p) {
			if ctx.Err() != nil || !m.owns(p) {
				break
			}
			calling, cancel := callContext(ctx)
			m.recordError("maintain", m.Queue.Maintain(calling, policy, m.Now()))
			cancel()
			timer.Sleep(ctx, maintenancePause)
		}
	}
}

// ownPolicies returns the policies of a partition's games, if this node owns it. They
// include due games that are not configured here any more: by their policies, items
// become due when they are stale, and are then dropped.
func (m *membership) ownPolicies(ctx context.Context, p *partition) (policies []Policy) {
	if !m.owns(p) {
		return nil
	}
	for _, g := range p.games {
		policies = append(policies, g.Policy)
	}
	ctx, cancel := callContext(ctx)
	defer cancel()
	due, _, err := m.Queue.Due(ctx, p.index, m.Now(), maxUnknownGames)
	m.recordError("due", err)
	for _, name := range due {
		if m.games[name] == nil {
			policies = append(policies, Policy{
				Game: name, MaxLen: MaxQueueLen, BatchSize: MaxQueueLen, FlushMS: MaxAgeMS + MaxAheadMS, MaxAgeMS: MaxAgeMS,
			})
		}
	}
	return policies
}
