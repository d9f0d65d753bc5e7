package redisqueue

import (
	"math"
	"slices"

	"laststand/internal/eventq"
)

// model is a simple specification of a queue. Each item has one fate, and the
// counters are the sums of the fates.
type model struct {
	terms   eventq.Policy
	fates   map[*modelItem]eventq.Reason // "" while it is queued or in flight
	sent    int64
	queue   []*modelItem
	flights map[string]*modelBatch
	settled map[string]eventq.BatchResult
	seen    map[string]int64 // id to when it was accepted
	pushes  map[string]eventq.PushResult

	tokens                 float64 // thousandths, as at tokensAt
	tokensAt               int64
	cool, flushBefore, due int64
	paused                 bool
	bound                  int // an operator's
}

type modelItem struct{ eventq.Item }

type modelBatch struct {
	things    []*modelItem
	till      int64
	permitted int64
}

func newModel(t eventq.Policy) *model {
	return &model{
		terms: t, tokens: 1000 * float64(t.Burst),
		fates: map[*modelItem]eventq.Reason{}, flights: map[string]*modelBatch{}, settled: map[string]eventq.BatchResult{},
		seen: map[string]int64{}, pushes: map[string]eventq.PushResult{},
	}
}

func (m *model) maxLen() int {
	if m.bound > 0 {
		return m.bound
	}
	return m.terms.MaxLen
}

// fresh returns the items of a push whose ids are new.
func (m *model) fresh(p eventq.Push) (fresh []eventq.Item) {
	met := map[string]bool{}
	for _, item := range p.Items {
		at, known := m.seen[item.ID]
		known = known && p.Now-at < eventq.DedupeWindowMS || met[item.ID]
		if item.Unique && known {
			continue
		}
		met[item.ID] = true
		fresh = append(fresh, item)
	}
	return fresh
}

func (m *model) push(p eventq.Push) (eventq.PushResult, error) {
	if len(p.Items) > 0 && p.Items[0].Unique { // such a push drives out what is forgotten
		for id, at := range m.seen {
			if p.Now-at >= eventq.DedupeWindowMS {
				delete(m.seen, id)
			}
		}
	}
	if before, ok := m.pushes[p.ID]; ok {
		return before, nil
	}
	fresh, had := m.fresh(p), len(m.queue)
	if m.terms.Overflow == eventq.Reject && p.Posted && len(fresh) > 0 && len(m.queue)+len(fresh) > m.maxLen() {
		return eventq.PushResult{}, eventq.ErrFull
	}
	m.shrink()
	dropped := dropCounts{}
	for reason, n := range p.Refused {
		m.refuse(n, reason)
	}
	duplicates := int64(len(p.Items) - len(fresh))
	m.refuse(duplicates, eventq.Duplicate)
	dropped[eventq.Duplicate] = duplicates
	var mine []*modelItem
	for _, item := range fresh {
		if m.terms.Overflow != eventq.DropOldest && len(m.queue) >= m.maxLen() {
			m.refuse(1, eventq.QueueFull)
			dropped[eventq.QueueFull]++
			continue
		}
		one := &modelItem{item}
		m.fates[one] = ""
		m.queue, mine = append(m.queue, one), append(mine, one)
		if len(p.Items) > 0 && p.Items[0].Unique {
			m.seen[item.ID] = p.Now
		}
	}
	m.shrink()
	for _, one := range mine {
		if m.fates[one] != "" {
			dropped[eventq.QueueFull]++
		}
	}
	for reason, n := range dropped {
		if n == 0 {
			delete(dropped, reason)
		}
	}
	if full := had >= m.terms.BatchSize; had == 0 || len(m.queue) < had+len(mine) || !full && len(m.queue) >= m.terms.BatchSize {
		m.markDue(p.Now) // nothing else makes it due earlier
	}
	m.pushes[p.ID] = eventq.PushResult{
		Queued: len(fresh) - int(dropped[eventq.QueueFull]), Dropped: dropped, Length: len(m.queue),
	}
	return m.pushes[p.ID], nil
}

func (m *model) refuse(n int64, r eventq.Reason) {
	for range n {
		m.fates[&modelItem{}] = r
	}
}

func (m *model) dropOldest(n int, r eventq.Reason) {
	for _, one := range m.queue[:n] {
		m.fates[one] = r
		if one.Unique {
			delete(m.seen, one.ID)
		}
	}
	m.queue = m.queue[n:]
}

func (m *model) shrink() { m.dropOldest(max(0, len(m.queue)-m.maxLen()), eventq.QueueFull) }

// vanish models the loss of the list. The ids stay known.
func (m *model) vanish() {
	for _, one := range m.queue {
		m.fates[one] = eventq.Expired
	}
	m.queue = nil
}

// tokensNow returns the tokens at now, or at the time of the last write if that is
// later.
func (m *model) tokensNow(now int64) (tokens float64, at int64) {
	at = max(now, m.tokensAt)
	return min(1000*float64(m.terms.Burst), m.tokens+float64(at-m.tokensAt)*m.terms.PerSecond), at
}

func (m *model) spend(now int64, tries float64) {
	tokens, at := m.tokensNow(now)
	if m.terms.PerSecond > 0 {
		m.tokens, m.tokensAt = min(1000*float64(m.terms.Burst), tokens-1000*tries), at
	}
}

func (m *model) maintain(now int64) {
	stale := slices.IndexFunc(m.queue, func(one *modelItem) bool { return one.QueuedAt > now-m.terms.MaxAgeMS-eventq.MaxAheadMS })
	if stale < 0 {
		stale = len(m.queue)
	}
	m.dropOldest(stale, eventq.TooOld)
	m.shrink()
	if m.flushBefore > now+clockSkewMS {
		m.flushBefore = 0
	}
	if m.tokensAt > now+clockSkewMS {
		m.tokensAt = now
	}
	m.markDue(now)
}

// nextFree is when an attempt may begin.
func (m *model) nextFree(now int64) int64 {
	at := max(now, m.cool)
	if tokens, then := m.tokensNow(now); m.terms.PerSecond > 0 && tokens < 1000 {
		at = max(at, then+int64(math.Ceil((1000-tokens)/m.terms.PerSecond)))
	}
	return at
}

func (m *model) markDue(now int64) int64 {
	m.due = 0
	if len(m.queue) == 0 || m.paused {
		return 0
	}
	m.due = m.nextFree(now)
	if oldest := m.queue[0].QueuedAt; len(m.queue) < m.terms.BatchSize && oldest > m.flushBefore {
		m.due = max(m.due, min(oldest, now)+m.terms.FlushMS)
	}
	return m.due
}

func (m *model) take(t eventq.Take) eventq.TakeResult {
	again := false
	for _, id := range t.Batches {
		_, ended := m.settled[id]
		again = again || ended || m.flights[id] != nil
	}
	if !again && !m.paused && m.nextFree(t.Now) <= t.Now {
		m.putInFlight(t)
	}
	var items []eventq.Item
	for _, id := range t.Batches {
		if held := m.flights[id]; held != nil {
			items = append(items, itemsOf(held.things)...)
		}
	}
	return eventq.TakeResult{Items: items, Left: len(m.queue), Next: m.markDue(t.Now)}
}

// putInFlight takes as many batches as allowed, at least one if there are items.
func (m *model) putInFlight(t eventq.Take) {
	tries := len(t.Batches)
	if tokens, _ := m.tokensNow(t.Now); m.terms.PerSecond > 0 {
		tries = min(tries, int(tokens/1000))
	}
	taken := 0
	for len(m.queue) > 0 && taken < tries && (taken == 0 || len(m.queue) >= m.terms.BatchSize) {
		n := min(len(m.queue), m.terms.BatchSize)
		m.flights[t.Batches[taken]] = &modelBatch{things: slices.Clone(m.queue[:n]), till: t.Now + t.Lease}
		m.queue = m.queue[n:]
		taken++
	}
	if taken > 0 {
		m.spend(t.Now, float64(taken))
	}
}

func itemsOf(things []*modelItem) (items []eventq.Item) {
	for _, one := range things {
		items = append(items, one.Item)
	}
	return items
}

// acquire returns the wait in ms, or -1 if the batch is gone.
func (m *model) acquire(r eventq.Renewal) int64 {
	f := m.flights[r.Batch]
	if f == nil {
		return -1
	}
	f.till = r.Now + r.Lease
	switch wait := m.nextFree(r.Now) - r.Now; {
	case f.permitted == r.Now:
		return 0
	case m.paused:
		return 1000
	case wait > 0:
		return min(wait, r.Lease/2)
	}
	f.permitted = r.Now
	m.spend(r.Now, 1)
	m.markDue(r.Now)
	return 0
}

// finish counts the first items as sent, the next as dropped, and the last as
// requeued.
func (m *model) finish(s eventq.BatchResult) {
	f := m.flights[s.Batch]
	rest := f.things[s.Sent:]
	for _, one := range f.things[:s.Sent] {
		delete(m.fates, one)
	}
	m.sent += s.Sent
	for reason, n := range s.Dropped {
		for _, one := range rest[:n] {
			m.fates[one] = reason
		}
		rest = rest[n:]
	}
	for _, id := range s.ForgetIDs {
		delete(m.seen, id)
	}
	m.queue = append(slices.Clone(rest), m.queue...)
	if len(rest) > 0 {
		m.shrink()
	}
	if s.Unused {
		m.spend(s.Now, -1)
	}
	if len(rest) > 0 || s.Unused {
		m.markDue(s.Now)
	}
	delete(m.flights, s.Batch)
	m.settled[s.Batch] = s
}

func (m *model) reap(now int64) (lost int64) {
	for batch, f := range m.flights {
		if f.till > now {
			continue
		}
		for _, one := range f.things {
			m.fates[one] = eventq.NodeLost
			lost++
		}
		delete(m.flights, batch)
	}
	return lost
}

func (m *model) counts() eventq.Counts {
	counts := eventq.Counts{
		Offered: m.sent + int64(len(m.fates)), Sent: m.sent, Dropped: dropCounts{}, Queued: int64(len(m.queue)),
	}
	for _, f := range m.flights {
		counts.InFlight += int64(len(f.things))
	}
	for _, reason := range m.fates {
		if reason != "" {
			counts.Dropped[reason]++
		}
	}
	return counts
}
