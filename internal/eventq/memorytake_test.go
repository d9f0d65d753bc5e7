package eventq

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
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
		taken.Left, k.pool = len(k.items), take.Pool
		there := max((len(k.items)+MaxBatch-1)/MaxBatch, 1)
		m.asked, m.beyond = max(m.asked, take.Messages), max(m.beyond, take.Messages-there)
		if f := m.flight[take.Batch]; f != nil {
			taken.Items = f.items
			return nil
		}
		if k.paused != "" || len(k.items) == 0 {
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
		n = min(len(k.items), n*t.BatchSize)
		taken.Items, k.items = slices.Clone(k.items[:n]), k.items[n:]
		k.counts.InFlight += int64(n)
		m.flight[take.Batch] = &inFlightBatch{game: t.Game, items: taken.Items, lease: take.Now + take.Lease}
		k.mark(take.Now)
		taken.Left, taken.Next = len(k.items), k.due
		return nil
	})
	if err != nil {
		return TakeResult{}, err
	}
	return taken, nil
}

func (m *memory) Acquire(_ context.Context, t Policy, r Renewal) (wait time.Duration, err error) {
	err = m.act("acquire", t.Game, func(k *memoryGame) error {
		f := m.flight[r.Batch]
		if f == nil {
			return ErrNotInFlight
		}
		f.lease = r.Now + r.Lease
		next := k.cool
		if k.paused != "" {
			next = r.Now + 1000
		}
		if next <= r.Now && !r.LeaseOnly {
			next = k.token(t, r.Now)
		}
		wait = max(time.Duration(next-r.Now)*time.Millisecond, 0)
		return nil
	})
	return wait, err
}

func (m *memory) Finish(_ context.Context, t Policy, s BatchResult) error {
	return m.act("finish", t.Game, func(k *memoryGame) error {
		f, marker := m.flight[s.Batch], markerOf(s)
		if m.ended[s.Batch] == marker {
			return nil
		}
		if f == nil {
			return ErrNotInFlight
		}
		done := s.Sent + int64(len(s.Requeue))
		for reason, n := range s.Dropped {
			k.counts.Dropped[reason] += n
			done += n
		}
		if done+s.Left != int64(len(f.items)) {
			panic("a settlement does not add up")
		}
		k.counts.InFlight -= done
		k.counts.Sent += s.Sent
		for _, id := range s.ForgetIDs {
			delete(k.seen, id)
		}
		k.tokens += float64(s.Unused)
		if len(s.Requeue) > 0 {
			k.items = append(slices.Clone(s.Requeue), k.items...)
			k.mark(s.Now)
		}
		m.ended[s.Batch] = marker
		if f.items = f.items[:s.Left]; s.Left == 0 {
			delete(m.flight, s.Batch)
		}
		return nil
	})
}

// markerOf tells the results of a batch apart.
func markerOf(s BatchResult) string {
	s.Now = 0
	return fmt.Sprint(s)
}
