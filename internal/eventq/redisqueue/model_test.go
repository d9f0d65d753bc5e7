package redisqueue

import (
	"fmt"
	"math"
	"slices"
	"strconv"

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
	lost    map[string]bool // batches
	tried   map[*modelItem]eventq.Tried
	seen    map[string]int64 // id to when it was accepted
	pushes  map[string]eventq.PushResult
	above   map[string]bool // pushes after which the queue was above its limit

	rateAt                 float64 // until when the attempts so far last
	cool, flushBefore, due int64
	paused                 bool
	bound                  int // an operator's
}

type modelItem struct{ eventq.Item }

type modelBatch struct {
	things []*modelItem
	tried  eventq.Tried
	till   int64
}

func newModel(t eventq.Policy) *model {
	return &model{
		terms: t,
		fates: map[*modelItem]eventq.Reason{}, flights: map[string]*modelBatch{}, settled: map[string]eventq.BatchResult{}, lost: map[string]bool{},
		tried: map[*modelItem]eventq.Tried{},
		seen:  map[string]int64{}, pushes: map[string]eventq.PushResult{}, above: map[string]bool{},
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
	if before, ok := m.pushes[p.ID]; ok {
		if m.above[p.ID] {
			m.shrink()
		}
		return before, nil
	}
	if len(p.Items) > 0 && p.Items[0].Unique { // such a push drives out what is forgotten
		for id, at := range m.seen {
			if p.Now-at >= eventq.DedupeWindowMS {
				delete(m.seen, id)
			}
		}
	}
	fresh, had := m.fresh(p), len(m.queue)
	if m.terms.Overflow == eventq.Reject && p.Posted && len(fresh) > 0 && len(m.queue)+len(fresh) > m.maxLen() {
		return eventq.PushResult{}, eventq.ErrFull
	}
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
	if had == 0 || had < m.terms.BatchSize && len(m.queue) >= m.terms.BatchSize {
		m.markDue(p.Now) // nothing else makes it due earlier
	}
	m.above[p.ID] = len(m.queue) > m.maxLen()
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

// interval is how long an attempt lasts, in ms.
func (m *model) interval() float64 {
	if m.terms.PerSecond == 0 {
		return 0
	}
	return 1000 / m.terms.PerSecond
}

func (m *model) spend(now int64, tries float64) {
	if m.terms.PerSecond > 0 {
		m.rateAt, _ = strconv.ParseFloat(fmt.Sprintf("%.3f", max(m.rateAt, float64(now))+tries*m.interval()), 64)
	}
}

func (m *model) maintain(now int64) {
	for batch, f := range m.flights {
		if f.till > now {
			continue
		}
		for _, one := range f.things {
			m.fates[one] = eventq.NodeLost
		}
		delete(m.flights, batch)
		m.lost[batch] = true
	}
	stale := slices.IndexFunc(m.queue, func(one *modelItem) bool { return one.QueuedAt > now-m.terms.MaxAgeMS-eventq.MaxAheadMS })
	if stale < 0 {
		stale = len(m.queue)
	}
	m.dropOldest(stale, eventq.TooOld)
	m.shrink()
	if m.flushBefore > now+clockSkewMS {
		m.flushBefore = 0
	}
	if m.rateAt > float64(now+clockSkewMS)+float64(m.terms.Burst)*m.interval() {
		m.rateAt = float64(now)
	}
	m.markDue(now)
}

// nextFree is when an attempt may begin.
func (m *model) nextFree(now int64) int64 {
	ready := max(m.rateAt, float64(now)) - float64(m.terms.Burst-1)*m.interval()
	return max(now, m.cool, int64(math.Ceil(ready-0.01)))
}

// markDue returns when the next batch can be taken.
func (m *model) markDue(now int64) (next int64) {
	if len(m.queue) > 0 && !m.paused {
		next = m.nextFree(now)
		if oldest := m.queue[0].QueuedAt; len(m.queue) < m.terms.BatchSize && oldest > m.flushBefore && m.tried[m.queue[0]].ID == "" {
			next = max(next, min(oldest, now)+m.terms.FlushMS)
		}
	}
	m.due = next
	for _, f := range m.flights {
		if m.due == 0 || f.till < m.due {
			m.due = f.till
		}
	}
	return next
}

// shownDue returns when the game is due, as operators see it.
func (m *model) shownDue() int64 {
	if len(m.queue) == 0 || m.paused {
		return 0
	}
	return m.due
}

func (m *model) take(t eventq.Take) eventq.TakeResult {
	_, ended := m.settled[t.Batch]
	if !ended && !m.lost[t.Batch] && m.flights[t.Batch] == nil && !m.paused && m.nextFree(t.Now) <= t.Now {
		m.putInFlight(t)
	}
	taken := eventq.TakeResult{Left: len(m.queue), Next: m.markDue(t.Now)}
	if held := m.flights[t.Batch]; held != nil {
		taken.Items, taken.Tried = itemsOf(held.things), held.tried
	}
	return taken
}

// putInFlight takes as many full messages as allowed, or a smaller one.
func (m *model) putInFlight(t eventq.Take) {
	if len(m.queue) == 0 {
		return
	}
	messages := min(t.Messages, len(m.queue)/m.terms.BatchSize)
	if m.terms.PerSecond > 0 {
		ahead := max(m.rateAt, float64(t.Now)) - float64(t.Now)
		messages = min(messages, int(math.Floor(float64(m.terms.Burst)-(ahead-0.01)/m.interval())))
	}
	messages = max(messages, 1)
	n, tried := 0, m.tried[m.queue[0]] // a message that was tried leaves alone
	for n < len(m.queue) && m.tried[m.queue[n]] == tried && (n < messages*m.terms.BatchSize || tried.ID != "") {
		n++
	}
	m.flights[t.Batch] = &modelBatch{things: slices.Clone(m.queue[:n]), tried: tried, till: t.Now + t.Lease}
	for _, one := range m.queue[:n] {
		delete(m.tried, one)
	}
	m.queue = m.queue[n:]
	m.spend(t.Now, math.Ceil(float64(n)/float64(m.terms.BatchSize)))
}

func itemsOf(things []*modelItem) (items []eventq.Item) {
	for _, one := range things {
		items = append(items, one.Item)
	}
	return items
}

// finish counts the first items as sent, then some as dropped, and puts the rest
// back: first the message to retry.
func (m *model) finish(r eventq.BatchResult) {
	f := m.flights[r.Batch]
	rest := f.things[r.Sent:]
	for _, one := range f.things[:r.Sent] {
		delete(m.fates, one)
	}
	m.sent += r.Sent
	for reason, n := range r.Dropped {
		for _, one := range rest[:n] {
			m.fates[one] = reason
		}
		rest = rest[n:]
	}
	for _, id := range r.ForgetIDs {
		delete(m.seen, id)
	}
	for _, one := range rest[:len(r.Retry)] {
		m.tried[one] = r.Tried
	}
	m.queue = append(slices.Clone(rest), m.queue...)
	m.cool = max(m.cool, r.CoolUntil)
	if r.Pause {
		m.paused = true
	}
	if r.Unused > 0 {
		m.spend(r.Now, -float64(r.Unused))
	}
	delete(m.flights, r.Batch)
	m.markDue(r.Now)
	if len(rest) > 0 {
		m.shrink()
	}
	m.settled[r.Batch] = r
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
