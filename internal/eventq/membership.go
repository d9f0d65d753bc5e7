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
	heartbeatInterval = time.Second
	heartbeatGapMS    = 2000
)

// membership knows which nodes share the work.
type membership struct {
	*shared
	nodes   atomic.Pointer[[]string] // that are alive, as this node last saw them
	contact contact                  // of sendHeartbeat
}

func newMembership(s *shared) *membership {
	m := &membership{shared: s, contact: contact{gapMS: heartbeatGapMS}}
	m.nodes.Store(new([]string))
	return m
}

func (m *membership) alive() []string { return *m.nodes.Load() }

// owns reports whether this node sends the games of a partition. For a moment
// two nodes may own it; then they mix the order of a game's items.
func (m *membership) owns(p *partition) bool { return owner(m.alive(), p.index) == m.Node }

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
	var alive []string
	if m.call(ctx, "heartbeat", func(ctx context.Context) (err error) {
		alive, err = m.Nodes.Heartbeat(ctx, m.Node, m.Now())
		return err
	}) != nil {
		return
	}
	before := m.alive()
	if m.contact.observe(m.Now()); !m.contact.lasts(m.Now(), NodeTTLMS) {
		alive = slices.Compact(slices.Sorted(slices.Values(slices.Concat(alive, before))))
	}
	if slices.Equal(alive, before) {
		return
	}
	m.nodes.Store(&alive)
	for _, p := range m.partitions {
		timer.Wake(p.pollNow)
	}
}

// leave leaves the work to the other nodes.
func (m *membership) leave(ctx context.Context) {
	_ = m.call(ctx, "leave", func(ctx context.Context) error { return m.Nodes.Leave(ctx, m.Node) })
}

// owner returns the node with the highest hash of node and partition
// (rendezvous hashing). When a node comes or goes, no partition moves between
// the others. Nodes of all versions must agree.
func owner(alive []string, partition int) (best string) {
	highest := uint64(0)
	for _, node := range alive {
		if w := weight(node, partition); best == "" || w > highest {
			best, highest = node, w
		}
	}
	return best
}

// weight is a hash whose bits all depend on small differences (FNV-1a with the finalizer
// of MurmurHash3).
func weight(node string, partition int) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(node + "/" + strconv.Itoa(partition)))
	h := hash.Sum64()
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// contact knows since when this node has reached a store without a gap. After a gap
// all nodes may seem to be dead, because none could reach the store.
type contact struct {
	gapMS int64 // a longer pause is a gap, and so is a clock that goes back so far
	since int64 // cluster time, epoch ms; 0: the store was never reached
	last  int64 // when the store was reached
}

// observe records that the store was reached.
func (c *contact) observe(now int64) {
	if c.hasGap(now) {
		c.since = now
	}
	c.last = now
}

func (c *contact) hasGap(now int64) bool { return max(now-c.last, c.last-now) > c.gapMS }

// lasts reports whether the store was reached for at least so many ms until now.
func (c *contact) lasts(now, ms int64) bool { return !c.hasGap(now) && now-c.since >= ms }
