package eventq

import (
	"cmp"
	"context"
	"maps"
)

func (m *memory) Maintain(_ context.Context, t Policy, now int64) error {
	return m.act("maintain", t.Game, func(k *memoryGame) error {
		k.flush, k.batch = t.FlushMS, t.BatchSize
		for id, f := range k.flight {
			if f.lease <= now {
				k.counts.InFlight -= int64(len(f.items))
				k.counts.Dropped[NodeLost] += int64(len(f.items))
				delete(k.flight, id)
			}
		}
		for len(k.items) > 0 && k.items[0].QueuedAt <= now-t.MaxAgeMS-MaxAheadMS {
			k.evict(TooOld)
		}
		for len(k.items) > cmp.Or(k.bound, t.MaxLen) {
			k.evict(QueueFull)
		}
		k.mark(now)
		return nil
	})
}

func (m *memory) Status(_ context.Context, games []string, _ int64) (all []Status, err error) {
	err = m.act("status", "", func(*memoryGame) error {
		for _, name := range games {
			k := m.game(name)
			s := Status{Game: name, Counts: k.count(), Paused: k.paused, Error: k.why, CoolUntil: k.cool, DueAt: k.due}
			if len(k.items) > 0 {
				s.OldestAt = k.items[0].QueuedAt
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

func (k *memoryGame) count() Counts {
	c := k.counts
	c.Queued = int64(len(k.items))
	c.Dropped = maps.Clone(c.Dropped)
	return c
}

func (m *memory) Pause(_ context.Context, game, why string) error {
	return m.act("pause", game, func(k *memoryGame) error {
		k.paused = why
		return nil
	})
}

func (m *memory) FlushNow(_ context.Context, game string, now int64) error {
	return m.act("flush_now", game, func(k *memoryGame) error {
		k.due = now
		return nil
	})
}
