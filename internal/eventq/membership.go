package eventq

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

const (
	heartbeatInterval   = time.Second
	maintenanceInterval = time.Minute           // of a round over the games of this node, which may take longer
	maintenancePause    = 10 * time.Millisecond // between two games
)

// membership is which nodes share the work, as this node last saw it.
type membership struct {
	alive []string
	owned []bool // by partition: whether this node reports its games
}

// owns reports whether this node reports the games of a partition. For a moment
// two nodes may own it, which is harmless.
func (s *Service) owns(p *partition) bool { return s.members.Load().owned[p.index] }

// runHeartbeats sends heartbeats and reads which nodes are alive, until the
// context ends. While the store is unreachable all nodes keep their partitions.
func (s *Service) runHeartbeats(ctx context.Context) {
	var p heartbeats
	for ctx.Err() == nil {
		s.sendHeartbeat(ctx, &p)
		sleep(ctx, heartbeatInterval)
	}
}

// heartbeats says when this node last reached the store.
type heartbeats struct{ last, keepUntil time.Time }

// keepMissingNodes also keeps the former nodes for a while after this node
// could not reach the store. Probably no node could reach it, and none has
// died. If two nodes reported one game, they would mix its order.
func (p *heartbeats) keepMissingNodes(alive, before []string) []string {
	now := time.Now()
	if now.Sub(p.last) > 2*heartbeatInterval {
		p.keepUntil = now.Add(NodeTTLMS * time.Millisecond)
	}
	p.last = now
	if now.Before(p.keepUntil) {
		alive = slices.Concat(alive, before)
		slices.Sort(alive)
	}
	return slices.Compact(alive)
}

func (s *Service) sendHeartbeat(ctx context.Context, p *heartbeats) {
	calling, cancel := callContext(ctx)
	defer cancel()
	alive, err := s.Nodes.Heartbeat(calling, s.Node, s.Now())
	s.recordError("heartbeat", err)
	if err != nil {
		return
	}
	alive = p.keepMissingNodes(alive, s.members.Load().alive)
	if slices.Equal(alive, s.members.Load().alive) {
		return
	}
	m := &membership{alive: alive, owned: make([]bool, len(s.partitions))}
	for i := range m.owned {
		m.owned[i] = owner(alive, i) == s.Node
	}
	s.members.Store(m)
	for _, p := range s.partitions {
		signal(p.pollNow)
	}
}

// leaveNodes leaves the work to the other nodes.
func (s *Service) leaveNodes(ctx context.Context) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	s.recordError("leave", s.Nodes.Leave(ctx, s.Node))
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
func (s *Service) runMaintenance(ctx context.Context) {
	sleep(ctx, 2*heartbeatInterval) // until the owners are known
	for ctx.Err() == nil {
		began := time.Now()
		for _, p := range s.partitions {
			s.maintainPartition(ctx, p)
		}
		sleep(ctx, max(maintenanceInterval-time.Since(began), heartbeatInterval))
	}
}

func (s *Service) maintainPartition(ctx context.Context, p *partition) {
	for _, g := range p.games {
		if ctx.Err() != nil || !s.owns(p) {
			return
		}
		s.maintainGame(ctx, g)
		sleep(ctx, maintenancePause)
	}
}

func (s *Service) maintainGame(ctx context.Context, g *game) {
	ctx, cancel := callContext(ctx)
	defer cancel()
	s.recordError("maintain", s.Queue.Maintain(ctx, g.Policy, s.Now()))
}
