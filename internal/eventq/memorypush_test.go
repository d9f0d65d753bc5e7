package eventq

import (
	"cmp"
	"context"
)

func (m *memory) Push(_ context.Context, t Policy, p Push) (done PushResult, err error) {
	err = m.act("push", t.Game, func(k *memoryGame) error {
		if was, ok := m.pushes[p.ID]; ok {
			done = was
			return nil
		}
		done, err = k.push(t, p, m.noMoreIDs)
		if err == nil {
			m.pushes[p.ID] = done
		}
		return err
	})
	return done, err
}

func (k *memoryGame) push(t Policy, p Push, noMoreIDs bool) (PushResult, error) {
	bound := cmp.Or(k.bound, t.MaxLen)
	if p.Posted && t.Overflow == Reject && len(k.items)+len(p.Items) > bound {
		return PushResult{}, ErrFull
	}
	k.flush, k.batch = t.FlushMS, t.BatchSize
	done := PushResult{Dropped: map[Reason]int64{}}
	for reason, n := range p.Refused {
		k.counts.Offered += n
		k.counts.Dropped[reason] += n
	}
	for _, item := range p.Items {
		k.counts.Offered++
		reason := Reason("")
		if at, ok := k.seen[item.ID]; item.Unique && ok && p.Now-at < DedupeWindowMS {
			reason = Duplicate
		} else if len(k.items) >= bound {
			reason = QueueFull
		}
		if item.Unique && noMoreIDs {
			reason = QueueFull
		} else if reason == QueueFull && t.Overflow == DropOldest {
			k.evict(QueueFull)
			reason = ""
		}
		if reason != "" {
			k.counts.Dropped[reason]++
			done.Dropped[reason]++
			continue
		}
		if item.Unique {
			k.seen[item.ID] = p.Now
		}
		k.items = append(k.items, item)
		done.Queued++
	}
	done.Length = len(k.items)
	k.mark(p.Now)
	return done, nil
}

func (k *memoryGame) evict(reason Reason) {
	delete(k.seen, k.items[0].ID)
	k.items = k.items[1:]
	k.counts.Dropped[reason]++
}
