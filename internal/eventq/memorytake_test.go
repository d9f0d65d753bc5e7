package eventq

import (
	"cmp"
	"context"
	"slices"
)

func (m *memory) Due(_ context.Context, partition int, now int64, limit int) (due []string, next int64, err error) {
	err = m.act("due", "", func(*memoryGame) error {
		for name, k := range m.games {
			switch {
			case m.Partition(name) != partition || k.due == 0:
			case k.due <= now:
				due = append(due, name)
			case next == 0 || k.due < next:
				next = k.due
			}
		}
		slices.SortFunc(due, func(a, b string) int {
			return cmp.Or(cmp.Compare(m.games[a].due, m.games[b].due), cmp.Compare(a, b))
		})
		due = due[:min(len(due), limit)]
		return nil
	})
	return due, next, err
}

// token takes a token of the rate limit, or returns when there is one.
func (k *memoryGame) token(t Policy, now int64) (next int64) {
	if t.PerSecond == 0 {
		return 0
	}
	if k.tokens < 0 {
		k.tokens, k.at = float64(t.Burst), now
	}
	k.tokens = min(k.tokens+float64(max(now-k.at, 0))*t.PerSecond/1000, float64(t.Burst))
	k.at = now
	if k.tokens < 1 {
		return now + int64((1-k.tokens)*1000/t.PerSecond) + 1
	}
	k.tokens--
	return 0
}

func (m *memory) Take(_ context.Context, t Policy, take Take) (taken TakeResult, err error) {
	err = m.act("take", t.Game, func(k *memoryGame) error {
		taken.Left = len(k.items)
		if f := k.flight[take.Batch]; f != nil {
			taken.Items = f.items
			return nil
		}
		if k.paused != "" || len(k.items) == 0 {
			k.mark(take.Now)
			return nil
		}
		if taken.Next = k.cool; k.cool > take.Now {
			return nil
		}
		if taken.Next = k.token(t, take.Now); taken.Next > 0 {
			k.due = taken.Next
			return nil
		}
		n := 1
		for n < take.Messages && len(k.items) >= (n+1)*t.BatchSize && k.token(t, take.Now) == 0 {
			n++
		}
		n = k.together(n * t.BatchSize)
		taken.Tried = k.tried[k.items[0].ID]
		taken.Items, k.items = slices.Clone(k.items[:n]), k.items[n:]
		for _, item := range taken.Items {
			delete(k.tried, item.ID)
		}
		k.counts.InFlight += int64(n)
		k.flight[take.Batch] = &inFlightBatch{items: taken.Items, lease: take.Now + take.Lease}
		taken.Left, taken.Next = len(k.items), k.mark(take.Now)
		if taken.Next > 0 && t.PerSecond > 0 && k.tokens < 1 {
			taken.Next = max(taken.Next, take.Now+int64((1-k.tokens)*1000/t.PerSecond)+1)
			k.due = taken.Next
		}
		return nil
	})
	if err != nil {
		return TakeResult{}, err
	}
	return taken, nil
}

// together returns how many of the oldest items may leave together: a message that
// was tried leaves alone.
func (k *memoryGame) together(most int) (n int) {
	first := k.tried[k.items[0].ID]
	for n < min(most, len(k.items)) && k.tried[k.items[n].ID] == first {
		n++
	}
	return n
}

func (m *memory) Finish(_ context.Context, t Policy, r BatchResult) error {
	return m.act("finish", t.Game, func(k *memoryGame) error {
		f := k.flight[r.Batch]
		if m.ended[r.Batch] {
			return nil
		}
		if f == nil {
			return ErrNotInFlight
		}
		back := slices.Concat(r.Retry, r.Requeue)
		done := r.Sent + int64(len(back))
		for reason, n := range r.Dropped {
			k.counts.Dropped[reason] += n
			done += n
		}
		if done != int64(len(f.items)) {
			panic("a result does not add up")
		}
		k.counts.InFlight -= done
		k.counts.Sent += r.Sent
		for _, id := range r.ForgetIDs {
			delete(k.seen, id)
		}
		for _, item := range r.Retry {
			k.tried[item.ID] = r.Tried
		}
		k.tokens += float64(r.Unused)
		k.items = append(back, k.items...)
		if k.cool = max(k.cool, r.CoolUntil); r.Error != "" {
			k.why = r.Error
		}
		if r.Pause {
			k.paused = r.Error
		}
		m.ended[r.Batch] = true
		delete(k.flight, r.Batch)
		k.mark(r.Now)
		return nil
	})
}
