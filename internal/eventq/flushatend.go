package eventq

import "context"

// flushAtEnd ends the collector of a partition. It pushes what is left while
// there is time, and counts the rest as Shutdown.
func (s *Service) flushAtEnd(pushing context.Context, p *partition, left []*game) {
	for left = append(left, p.removeListed()...); len(left) > 0 && pushing.Err() == nil; {
		if left = s.pushAll(pushing, left); len(left) > 0 {
			sleep(pushing, pushRetryDelay)
		}
		left = append(left, p.removeListed()...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(pushing), lossTimeout)
	defer cancel()
	for _, g := range p.games {
		if l, some := g.buffer.takeLosses(); some {
			s.countLosses(ctx, g, l)
		}
	}
}

// losses are what a game had not pushed when the service ended.
type losses struct {
	untried int64 // items that were in no push
	unknown int64 // items of a push without an answer, which may be queued
	refused map[Reason]int64
}

// takeLosses closes the buffer and returns what it held.
func (c *gameBuffer) takeLosses() (l losses, hasLosses bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l = losses{untried: int64(len(c.items)), unknown: int64(c.pushingCount), refused: c.refused}
	c.items, c.bodies, c.push, c.refused, c.pushingCount, c.isClosed = nil, nil, nil, nil, 0, true
	return l, l.untried+l.unknown > 0 || l.refused != nil
}

// countLosses counts lost items in the metrics, and in the store those that
// cannot be there yet.
func (s *Service) countLosses(ctx context.Context, g *game, l losses) {
	s.buffered.Add(-l.untried - l.unknown)
	s.metrics.flushLost.Add(float64(l.untried + l.unknown))
	if l.untried > 0 {
		if l.refused == nil {
			l.refused = map[Reason]int64{}
		}
		l.refused[Shutdown] = l.untried
	}
	if l.refused == nil || ctx.Err() != nil {
		return
	}
	_, err := s.Queue.Push(ctx, g.Policy, Push{ID: s.ids.next(), Refused: l.refused, Now: s.Now()})
	s.recordError("push", err)
}
