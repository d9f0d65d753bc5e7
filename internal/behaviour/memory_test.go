package behaviour

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"
)

const partitions = 4

// memory is what the service asks of its store, in memory, with faults to
// switch on.
type memory struct {
	mu     sync.Mutex
	games  map[string]*kept
	flight map[string]*flying
	pushes map[string]Pushed
	ended  map[string]bool // batches, by settlement
	beats  map[string]int64

	noMoreIDs bool // of what is taken once

	calls map[string]int
	fault func(what, game string) error // before the call; nil: none
	loss  func(what, game string) error // after it
}

// kept is a game's queue.
type kept struct {
	items  []Item
	counts Counts
	seen   map[string]int64
	due    int64 // 0: not
	cool   int64
	tokens float64
	at     int64 // of the tokens
	bound  int
	paused string
	why    string
	lane   string
	flush  int64
	batch  int
}

type flying struct {
	game  string
	items []Item
	lease int64
}

func newMemory() *memory {
	return &memory{
		games: map[string]*kept{}, flight: map[string]*flying{}, pushes: map[string]Pushed{},
		ended: map[string]bool{}, beats: map[string]int64{}, calls: map[string]int{},
	}
}

func (m *memory) failing(what, game string) error {
	if m.fault == nil {
		return nil
	}
	return m.fault(what, game)
}

func (m *memory) game(name string) *kept {
	if m.games[name] == nil {
		m.games[name] = &kept{seen: map[string]int64{}, counts: Counts{Dropped: map[Reason]int64{}}, tokens: -1}
	}
	return m.games[name]
}

func (m *memory) Partitions() int { return partitions }

func (m *memory) Partition(game string) int {
	h := fnv.New32a()
	h.Write([]byte(game))
	return int(h.Sum32() % partitions)
}

// act does one call: fails before it, or does it and then loses the answer.
func (m *memory) act(what, game string, do func(k *kept) error) error {
	m.mu.Lock()
	m.calls[what]++
	err := m.failing(what, game)
	loss := m.loss
	if err == nil {
		err = do(m.game(game))
	} else {
		loss = nil
	}
	m.mu.Unlock()
	if err == nil && loss != nil {
		return loss(what, game)
	}
	return err
}

func (m *memory) Push(_ context.Context, t Terms, p Push) (done Pushed, err error) {
	err = m.act("push", t.Game, func(k *kept) error {
		if was, ok := m.pushes[p.ID]; ok {
			done = was
			return nil
		}
		if m.noMoreIDs && len(p.Items) > 0 && p.Items[0].Once {
			return ErrFull
		}
		done, err = k.push(t, p)
		if err == nil {
			m.pushes[p.ID] = done
		}
		return err
	})
	return done, err
}

// PushAll makes the pushes to those queues that have items, as one step.
func (m *memory) PushAll(_ context.Context, all []GamePush) (done []Pushed, err error) {
	err = m.act("push all", "", func(*kept) error {
		for _, one := range all {
			var pushed Pushed
			was, known := m.pushes[one.Push.ID]
			if k := m.game(one.Terms.Game); known {
				pushed = was
			} else if m.failing("push", one.Terms.Game) == nil && len(k.items) > 0 {
				pushed, _ = k.push(one.Terms, one.Push)
				m.pushes[one.Push.ID] = pushed
			}
			done = append(done, pushed)
		}
		return nil
	})
	return done, err
}

func (k *kept) push(t Terms, p Push) (Pushed, error) {
	bound := cmp.Or(k.bound, t.MaxLen)
	if p.Posted && t.Overflow == Reject && len(k.items)+len(p.Items) > bound {
		return Pushed{}, ErrFull
	}
	k.flush, k.batch = t.FlushMS, t.BatchSize
	done := Pushed{Dropped: map[Reason]int64{}}
	for reason, n := range p.Refused {
		k.counts.Offered += n
		k.counts.Dropped[reason] += n
	}
	for _, item := range p.Items {
		k.counts.Offered++
		reason := Reason("")
		if at, ok := k.seen[item.ID]; item.Once && ok && p.Now-at < SeenForMS {
			reason = Duplicate
		} else if len(k.items) >= bound {
			reason = QueueFull
		}
		if reason == QueueFull && t.Overflow == DropOldest {
			k.evict()
			reason = ""
		}
		if reason != "" {
			k.counts.Dropped[reason]++
			done.Dropped[reason]++
			continue
		}
		if item.Once {
			k.seen[item.ID] = p.Now
		}
		k.items = append(k.items, item)
		done.Queued++
	}
	done.Length = len(k.items)
	k.mark(p.Now)
	return done, nil
}

func (k *kept) evict() {
	delete(k.seen, k.items[0].ID)
	k.items = k.items[1:]
	k.counts.Dropped[QueueFull]++
}

// mark says when the game is due.
func (k *kept) mark(now int64) {
	switch {
	case len(k.items) == 0 || k.paused != "":
		k.due = 0
	case len(k.items) >= k.batch:
		k.due = max(now, k.cool)
	default:
		k.due = max(min(k.items[0].QueuedAt, now)+k.flush, k.cool)
	}
}

func (m *memory) Due(_ context.Context, partition int, now int64, limit int) (due []string, next int64, err error) {
	err = m.act("due", "", func(*kept) error {
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

// token takes a try of the rate, or says when there is one.
func (k *kept) token(t Terms, now int64) (next int64) {
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

func (m *memory) Take(_ context.Context, t Terms, take Take) (taken Taken, err error) {
	err = m.act("take", t.Game, func(k *kept) error {
		taken.Left, k.lane = len(k.items), take.Lane
		for _, id := range take.Batches {
			if f := m.flight[id]; f != nil {
				taken.Items = append(taken.Items, f.items...)
			}
		}
		if len(taken.Items) > 0 {
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
		for i, id := range take.Batches {
			if i > 0 && (len(k.items) < t.BatchSize || k.token(t, take.Now) > 0) {
				break
			}
			items := slices.Clone(k.items[:min(len(k.items), t.BatchSize)])
			k.items = k.items[len(items):]
			k.counts.InFlight += int64(len(items))
			taken.Items = append(taken.Items, items...)
			m.flight[id] = &flying{game: t.Game, items: items, lease: take.Now + take.Lease}
		}
		k.mark(take.Now)
		taken.Left, taken.Next = len(k.items), k.due
		return nil
	})
	if err != nil {
		return Taken{}, err
	}
	return taken, nil
}

func (m *memory) Permit(_ context.Context, t Terms, r Renewal) (wait time.Duration, err error) {
	err = m.act("permit", t.Game, func(k *kept) error {
		f := m.flight[r.Batch]
		if f == nil {
			return ErrGone
		}
		f.lease = r.Now + r.Lease
		next := k.cool
		if k.paused != "" {
			next = r.Now + 1000
		}
		if next <= r.Now && !r.Only {
			next = k.token(t, r.Now)
		}
		wait = max(time.Duration(next-r.Now)*time.Millisecond, 0)
		return nil
	})
	return wait, err
}

func (m *memory) Settle(_ context.Context, t Terms, s Settlement) error {
	return m.act("settle", t.Game, func(k *kept) error {
		f := m.flight[s.Batch]
		if m.ended[s.Batch] {
			return nil
		}
		if f == nil {
			return ErrGone
		}
		sum := s.Sent + int64(len(s.Back))
		for reason, n := range s.Dropped {
			k.counts.Dropped[reason] += n
			sum += n
		}
		if sum != int64(len(f.items)) {
			panic("a settlement does not add up")
		}
		k.counts.InFlight -= sum
		k.counts.Sent += s.Sent
		for _, id := range s.Forget {
			delete(k.seen, id)
		}
		if s.Unused {
			k.tokens++
		}
		if len(s.Back) > 0 {
			k.items = append(slices.Clone(s.Back), k.items...)
			k.mark(s.Now)
		}
		m.ended[s.Batch] = true
		delete(m.flight, s.Batch)
		return nil
	})
}

func (m *memory) SettleSent(ctx context.Context, t Terms, all []Settlement) error {
	err := m.act("settle sent", t.Game, func(*kept) error {
		for _, s := range all {
			if m.flight[s.Batch] == nil && !m.ended[s.Batch] {
				return ErrGone
			}
		}
		return nil
	})
	for _, s := range all {
		if err == nil {
			err = m.Settle(ctx, t, s)
		}
	}
	return err
}

func (m *memory) Fault(_ context.Context, game, why string, now, until int64) error {
	return m.act("fault", game, func(k *kept) error {
		k.why = why
		if until > k.cool {
			k.cool = until
			k.mark(now)
		}
		return nil
	})
}

func (m *memory) Reap(_ context.Context, partition int, now int64) (items int64, err error) {
	err = m.act("reap", "", func(*kept) error {
		for id, f := range m.flight {
			if m.Partition(f.game) == partition && f.lease <= now {
				n := int64(len(f.items))
				k := m.games[f.game]
				k.counts.InFlight -= n
				k.counts.Dropped[NodeLost] += n
				items += n
				delete(m.flight, id)
			}
		}
		return nil
	})
	return items, err
}

func (m *memory) Keep(_ context.Context, t Terms, now int64) error {
	return m.act("keep", t.Game, func(k *kept) error {
		for len(k.items) > cmp.Or(k.bound, t.MaxLen) {
			k.evict()
		}
		k.mark(now)
		return nil
	})
}

func (m *memory) Status(_ context.Context, games []string, _ int64) (all []Status, err error) {
	err = m.act("status", "", func(*kept) error {
		for _, name := range games {
			k := m.game(name)
			s := Status{Game: name, Counts: k.count(), Lane: k.lane, Paused: k.paused, Error: k.why, CoolUntil: k.cool, DueAt: k.due}
			if len(k.items) > 0 {
				s.OldestAt = k.items[0].QueuedAt
			}
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

func (k *kept) count() Counts {
	c := k.counts
	c.Queued = int64(len(k.items))
	c.Dropped = maps.Clone(c.Dropped)
	return c
}

func (m *memory) Totals(context.Context) (sum Counts, err error) {
	err = m.act("totals", "", func(*kept) error {
		sum = Counts{Dropped: map[Reason]int64{}}
		for _, k := range m.games {
			c := k.count()
			sum.Offered += c.Offered
			sum.Sent += c.Sent
			sum.Queued += c.Queued
			sum.InFlight += c.InFlight
			for reason, n := range c.Dropped {
				sum.Dropped[reason] += n
			}
		}
		return nil
	})
	return sum, err
}

func (m *memory) Pause(_ context.Context, game, why string) error {
	return m.act("pause", game, func(k *kept) error {
		k.paused, k.due = why, 0
		return nil
	})
}

func (m *memory) Hurry(_ context.Context, game string, now int64) error {
	return m.act("hurry", game, func(k *kept) error {
		if len(k.items) > 0 && k.paused == "" {
			k.due = max(now, k.cool)
		}
		return nil
	})
}

func (m *memory) Beat(_ context.Context, node string, now int64) (alive []string, err error) {
	err = m.act("beat", "", func(*kept) error {
		m.beats[node] = now
		for other, at := range m.beats {
			if now-at <= NodeMS {
				alive = append(alive, other)
			}
		}
		slices.Sort(alive)
		return nil
	})
	return alive, err
}

func (m *memory) Bye(_ context.Context, node string) error {
	return m.act("bye", "", func(*kept) error {
		delete(m.beats, node)
		return nil
	})
}
