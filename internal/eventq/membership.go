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
	// NodeTTLMS is how long a node shares the work after a heartbeat.
	NodeTTLMS = 3000
	// deadAfterMS is how long a node must not be seen before its sessions are ended.
	deadAfterMS = 10_000
)

// membership knows which nodes share the work, and which are dead.
type membership struct {
	*shared
	view    atomic.Pointer[view]
	contact contact // of sendHeartbeat
}

// view is what this node last saw of all nodes.
type view struct {
	alive []string         // sorted
	dead  map[string]int64 // nodes with sessions to end, and when they were last seen
}

func newMembership(s *shared) *membership {
	m := &membership{shared: s}
	m.view.Store(&view{})
	return m
}

func (m *membership) alive() []string { return m.view.Load().alive }

// owns reports whether this node sends the games of a partition. For a moment
// two nodes may own it; then they mix the order of a game's items.
func (m *membership) owns(p *partition) bool { return owner(m.alive(), p.index) == m.Node }

// deadNodes returns the dead nodes whose sessions this node must end: it is the first of
// the live ones.
func (m *membership) deadNodes() map[string]int64 {
	if v := m.view.Load(); len(v.alive) > 0 && v.alive[0] == m.Node {
		return v.dead
	}
	return nil
}

// runHeartbeats sends heartbeats and reads which nodes are alive, until the
// context ends. While the store is unreachable all nodes keep their partitions.
func (m *membership) runHeartbeats(ctx context.Context) {
	m.sendHeartbeat(ctx)
	timer.Every(ctx, heartbeatInterval, m.sendHeartbeat)
}

func (m *membership) sendHeartbeat(ctx context.Context) {
	var seen map[string]int64
	if m.call(ctx, "heartbeat", func(ctx context.Context) (err error) {
		seen, err = m.Nodes.Heartbeat(ctx, m.Node, m.Now())
		return err
	}) != nil {
		return
	}
	m.contact.observe(m.Now())
	before := m.view.Load()
	next := m.newView(seen, before, m.Now())
	if m.view.Store(next); slices.Equal(next.alive, before.alive) {
		return
	}
	for _, p := range m.partitions {
		timer.Wake(p.pollNow)
	}
}

// newView keeps the former nodes for a while after this node could not reach the store,
// and declares none dead. Probably no node could reach it, and none has died. If two nodes
// reported one game, they would mix its order. A node that was seen far in the future had a
// clock that was set back later.
func (m *membership) newView(seen map[string]int64, before *view, now int64) *view {
	next := &view{dead: map[string]int64{}}
	for node, at := range seen {
		age := max(now-at, at-now)
		switch {
		case age <= NodeTTLMS, !m.contact.lasts(now, NodeTTLMS) && slices.Contains(before.alive, node):
			next.alive = append(next.alive, node)
		case age >= deadAfterMS && m.contact.lasts(now, deadAfterMS):
			next.dead[node] = at
		}
	}
	slices.Sort(next.alive)
	return next
}

// leave leaves the work to the other nodes. They end what sessions are left here.
func (m *membership) leave(ctx context.Context) {
	_ = m.call(ctx, "leave", func(ctx context.Context) error {
		_, err := m.Nodes.Heartbeat(ctx, m.Node, m.Now()-deadAfterMS)
		return err
	})
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

// contactGapMS is a pause that interrupts a contact, as does a clock that goes back so far.
const contactGapMS = 2000

// contact knows since when this node has reached a store without a gap. After a gap
// all nodes may seem to be dead, because none could reach the store.
type contact struct {
	since int64 // cluster time, epoch ms; 0: the store was never reached
	last  int64 // when the store was reached
}

// observe records that the store was reached.
func (c *contact) observe(now int64) {
	if max(now-c.last, c.last-now) > contactGapMS {
		c.since = now
	}
	c.last = now
}

// lasts reports whether the store was reached for at least so many ms until now.
func (c *contact) lasts(now, ms int64) bool { return now-c.since >= ms }
