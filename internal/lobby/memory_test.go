package lobby

import (
	"context"
	"errors"
	"slices"
	"sync"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// aliveMS is how long a ticket of the memory waits unattended.
const aliveMS = 5000

// memory is a Store in maps, by the contract of the scripts.
type memory struct {
	mu       sync.Mutex
	tickets  map[string]Ticket
	alive    map[string]int64
	busy     map[string]Busy // by player
	pairings map[string]Pairing
}

func newMemory() *memory {
	return &memory{tickets: map[string]Ticket{}, alive: map[string]int64{}, busy: map[string]Busy{}, pairings: map[string]Pairing{}}
}

func (m *memory) Enter(_ context.Context, t Ticket, former Busy, now int64) (int64, Busy, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, former := Busy{Ticket: t.ID}, Busy{Match: former.Match}
	if b := m.busy[t.Seat.Player]; b != (Busy{}) && b != former && b != own {
		if b.Match != "" || m.alive[b.Ticket] >= now {
			return 0, b, nil
		}
		m.drop(b.Ticket)
	}
	m.busy[t.Seat.Player] = own
	m.tickets[t.ID], m.alive[t.ID] = t, now+aliveMS
	return int64(len(m.tickets)), Busy{}, nil
}

// drop takes a ticket out. The caller holds mu.
func (m *memory) drop(id string) {
	delete(m.tickets, id)
	delete(m.alive, id)
}

func (m *memory) Near(_ context.Context, t Ticket, now int64) ([]Ticket, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tickets[t.ID]; !ok {
		if m.busy[t.Seat.Player] != (Busy{Ticket: t.ID}) {
			return nil, false, nil
		}
		m.tickets[t.ID] = t
	}
	m.alive[t.ID] = now + aliveMS
	var near []Ticket
	for id, c := range m.tickets {
		switch {
		case m.alive[id] < now:
			m.drop(id)
		case id != t.ID:
			near = append(near, c)
		}
	}
	return near, true, nil
}

func (m *memory) Pair(_ context.Context, p Pairing) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.pairings[p.Match]; ok {
		return true, nil
	}
	for _, t := range p.Tickets {
		if _, ok := m.tickets[t.ID]; !ok {
			return false, nil
		}
	}
	for _, t := range p.Tickets {
		m.drop(t.ID)
		m.busy[t.Seat.Player] = Busy{Match: p.Match}
	}
	m.pairings[p.Match] = p
	return true, nil
}

func (m *memory) Done(_ context.Context, _, match string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pairings, match)
	return nil
}

func (m *memory) Leave(_ context.Context, _, player string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.busy[player].Ticket
	if id != "" {
		delete(m.busy, player)
		m.drop(id)
	}
	return id, nil
}

func (m *memory) Where(_ context.Context, _, player string) (Busy, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.busy[player]
	_, b.Forming = m.pairings[b.Match]
	return b, nil
}

func (m *memory) Free(_ context.Context, _, player, match string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[player] == (Busy{Match: match}) {
		delete(m.busy, player)
	}
	return nil
}

func (m *memory) Pairings(context.Context, string) ([]Pairing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Pairing
	for _, p := range m.pairings {
		all = append(all, p)
	}
	return all, nil
}

var errDown = errors.New("the store is down")

// A fault is what becomes of one call of the store.
type fault int

const (
	works fault = iota
	fails       // nothing is done
	loses       // it is done, and the reply is lost
)

// link is a node's way to the store; its fault is asked for with the method's
// name, nil always works.
type link struct {
	*memory
	mu    sync.Mutex
	calls map[string]int
	fault func(method string) fault
}

func (l *link) set(f func(method string) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.calls = f, map[string]int{}
}

func (l *link) called(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[method]
}

func (l *link) over(method string, call func() error) error {
	l.mu.Lock()
	f := works
	if l.fault != nil {
		f = l.fault(method)
		l.calls[method]++
	}
	l.mu.Unlock()
	if f == fails {
		return errDown
	}
	if err := call(); err != nil || f == works {
		return err
	}
	return errDown
}

func (l *link) Enter(ctx context.Context, t Ticket, former Busy, now int64) (waiting int64, with Busy, err error) {
	err = l.over("Enter", func() error { waiting, with, err = l.memory.Enter(ctx, t, former, now); return err })
	return waiting, with, err
}

func (l *link) Near(ctx context.Context, t Ticket, now int64) (near []Ticket, waits bool, err error) {
	err = l.over("Near", func() error { near, waits, err = l.memory.Near(ctx, t, now); return err })
	if err != nil {
		return nil, false, err
	}
	return near, waits, nil
}

func (l *link) Pair(ctx context.Context, p Pairing) (won bool, err error) {
	err = l.over("Pair", func() error { won, err = l.memory.Pair(ctx, p); return err })
	return won && err == nil, err
}

func (l *link) Done(ctx context.Context, game, match string) error {
	return l.over("Done", func() error { return l.memory.Done(ctx, game, match) })
}

func (l *link) Where(ctx context.Context, game, player string) (b Busy, err error) {
	err = l.over("Where", func() error { b, err = l.memory.Where(ctx, game, player); return err })
	return b, err
}

// hall is where matches are played, seen by all nodes.
type hall struct {
	mu        sync.Mutex
	plans     map[string]*match.Plan
	over      map[string]bool
	unsettled map[string]bool
}

// door is a node's way to the hall, with the players who are at that node.
type door struct {
	*hall
	full bool
	shut func() bool // starting fails; nil for never

	here map[string]bool
	led  map[string]string // the match that a player here was led into
}

var errShut = errors.New("the match cannot be created")

func (d *door) Start(_ context.Context, p *match.Plan) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut != nil && d.shut() {
		return errShut
	}
	if d.plans[p.ID] == nil {
		d.plans[p.ID] = p
	}
	for _, s := range d.plans[p.ID].Seats {
		d.lead(p.ID, s.Player)
	}
	return nil
}

// lead leads a player into a match. The caller holds mu.
func (d *door) lead(match, player string) {
	if d.here[player] {
		d.led[player] = match
	}
}

func (d *door) Found(_ context.Context, _, id, player string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.here[player] && d.plans[id] == nil {
		return match.ErrNotFound
	}
	d.lead(id, player)
	return nil
}

func (d *door) Accepting() error {
	if d.full {
		return match.ErrOverloaded
	}
	return nil
}

func (d *door) Running(_ context.Context, id string) (int64, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return 7, d.plans[id] != nil && !d.over[id], nil
}

func (d *door) Unsettled(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unsettled[id], nil
}

// match is the match that a player at this node was led into, "" for none.
func (d *door) match(player string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.led[player]
}

// shelf is a bank of 30 questions: 20 of sport and 20 in English, 10 of both.
type shelf struct{}

func (shelf) questions(w Wish) []quiz.Question {
	var all []quiz.Question
	for i := range 30 {
		q := quiz.Question{ID: string(rune('a' + i)), Lang: "en", Category: "sport"}
		if i < 10 {
			q.Lang = "zh-CN"
		}
		if i >= 20 {
			q.Category = "art"
		}
		if w.Fits(Wish{Lang: q.Lang, Category: q.Category}) {
			all = append(all, q)
		}
	}
	return all
}

func (s shelf) Count(_ string, w Wish) int { return len(s.questions(w)) }

func (s shelf) Draw(_ string, w Wish, count int, seen map[string]struct{}) ([]quiz.Question, error) {
	all := s.questions(w)
	if len(all) < count {
		return nil, errors.New("too few questions")
	}
	slices.SortStableFunc(all, func(a, b quiz.Question) int {
		_, x := seen[a.ID]
		_, y := seen[b.ID]
		return map[bool]int{true: 1}[x] - map[bool]int{true: 1}[y]
	})
	return all[:count], nil
}

// minds are what the players have seen.
type minds struct {
	mu   sync.Mutex
	seen map[string][]string
}

func (m *minds) Seen(_ context.Context, _ string, players []string) (map[string]struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]struct{}{}
	for _, p := range players {
		for _, id := range m.seen[p] {
			all[id] = struct{}{}
		}
	}
	return all, nil
}

func (m *minds) Saw(_ context.Context, _ string, players, questions []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range players {
		m.seen[p] = append(m.seen[p], questions...)
	}
	return nil
}
