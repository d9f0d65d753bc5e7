package eventq

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

const (
	beatEvery = time.Second
	keepEvery = time.Minute           // a round over the games of this node, or as long as it takes with
	keepPause = 10 * time.Millisecond // between two of them
)

// membership is who shares the work, as this node last saw it.
type membership struct {
	alive []string
	owned []bool // by partition: this node reports its games
}

// owns says whether this node reports a partition's games. For a moment another
// may think so too, which is harmless.
func (s *Service) owns(p *partition) bool { return s.members.Load().owned[p.index] }

// beat says that this node lives, and learns who else does, until the context
// ends. While the store is out of reach everyone goes on as before.
func (s *Service) beat(ctx context.Context) {
	var p pulse
	for ctx.Err() == nil {
		s.beatOnce(ctx, &p)
		pause(ctx, beatEvery)
	}
}

// pulse is when a node's beats arrived.
type pulse struct{ last, sparing time.Time }

// spare adds those who were alive before to those who are now, for a while after
// beats did not arrive: if nobody's did, nobody has died of it, and for two to
// report one game would spoil its order.
func (p *pulse) spare(alive, before []string) []string {
	now := time.Now()
	if now.Sub(p.last) > 2*beatEvery {
		p.sparing = now.Add(NodeMS * time.Millisecond)
	}
	p.last = now
	if now.Before(p.sparing) {
		alive = slices.Concat(alive, before)
		slices.Sort(alive)
	}
	return slices.Compact(alive)
}

func (s *Service) beatOnce(ctx context.Context, p *pulse) {
	calling, cancel := call(ctx)
	defer cancel()
	alive, err := s.Nodes.Beat(calling, s.Node, s.Now())
	s.note("beat", err)
	if err != nil {
		return
	}
	alive = p.spare(alive, s.members.Load().alive)
	if slices.Equal(alive, s.members.Load().alive) {
		return
	}
	m := &membership{alive: alive, owned: make([]bool, len(s.partitions))}
	for i := range m.owned {
		m.owned[i] = owner(alive, i) == s.Node
	}
	s.members.Store(m)
	for _, p := range s.partitions {
		signal(p.nudge)
	}
}

// bye leaves the work to the others.
func (s *Service) bye(ctx context.Context) {
	ctx, cancel := call(ctx)
	defer cancel()
	s.note("bye", s.Nodes.Bye(ctx, s.Node))
}

// owner is the node with the highest hash of node and partition (rendezvous
// hashing): when one comes or goes, no partition moves between the others.
func owner(alive []string, partition int) string {
	best, highest := "", uint64(0)
	for _, node := range alive {
		h := fnv.New64a()
		h.Write([]byte(node + "/" + strconv.Itoa(partition)))
		if weight := mix(h.Sum64()); best == "" || weight > highest {
			best, highest = node, weight
		}
	}
	return best
}

// mix spreads what differs in few bits (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// keep has the queues of this node's partitions kept in order, in slow rounds,
// until the context ends.
func (s *Service) keep(ctx context.Context) {
	pause(ctx, 2*beatEvery) // until it is known whose they are
	for ctx.Err() == nil {
		began := time.Now()
		for _, p := range s.partitions {
			s.keepPartition(ctx, p)
		}
		pause(ctx, max(keepEvery-time.Since(began), beatEvery))
	}
}

func (s *Service) keepPartition(ctx context.Context, p *partition) {
	for _, g := range p.games {
		if ctx.Err() != nil || !s.owns(p) {
			return
		}
		s.keepGame(ctx, g)
		pause(ctx, keepPause)
	}
}

func (s *Service) keepGame(ctx context.Context, g *game) {
	ctx, cancel := call(ctx)
	defer cancel()
	s.note("keep", s.Queue.Keep(ctx, g.Terms, s.Now()))
}
