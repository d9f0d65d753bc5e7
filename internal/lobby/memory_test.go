package lobby

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

const ticketAliveMS = 5000 // how long a ticket lives without renewal

// memoryStore implements Store with maps, as the Lua scripts of redislobby do.
type memoryStore struct {
	mu sync.Mutex
	storeTables
}

type storeTables struct {
	tickets  map[string]Ticket   // waiting tickets by id
	alive    map[string]int64    // expiry by ticket id, epoch ms
	busy     map[string]Activity // by player
	duels    map[string]string   // last duel by player
	pairings map[string]Pairing  // by match id
}

func newMemoryStore() *memoryStore {
	return &memoryStore{storeTables: storeTables{
		tickets: map[string]Ticket{}, alive: map[string]int64{}, busy: map[string]Activity{}, duels: map[string]string{}, pairings: map[string]Pairing{},
	}}
}

// copyTables returns a copy of all tables.
func (m *memoryStore) copyTables() storeTables {
	m.mu.Lock()
	defer m.mu.Unlock()
	return storeTables{maps.Clone(m.tickets), maps.Clone(m.alive), maps.Clone(m.busy), maps.Clone(m.duels), maps.Clone(m.pairings)}
}

func (m *memoryStore) AddTicket(_ context.Context, t Ticket, former Activity, now int64) (int64, Activity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newActivity, former := Activity{Ticket: t.ID}, Activity{Match: former.Match}
	if activity := m.busy[t.Seat.Player]; activity != (Activity{}) && activity != former && activity != newActivity {
		if activity.Match != "" || m.alive[activity.Ticket] >= now {
			return 0, activity, nil
		}
		m.deleteTicket(activity.Ticket)
	}
	m.busy[t.Seat.Player] = newActivity
	m.tickets[t.ID], m.alive[t.ID] = t, now+ticketAliveMS
	return int64(len(m.tickets)), Activity{}, nil
}

// deleteTicket removes a ticket. The caller holds mu.
func (m *memoryStore) deleteTicket(id string) {
	delete(m.tickets, id)
	delete(m.alive, id)
}

func (m *memoryStore) ListNearest(_ context.Context, t Ticket, s Slice, now int64) ([]Ticket, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tickets[t.ID]; !ok {
		if m.busy[t.Seat.Player] != (Activity{Ticket: t.ID}) {
			if _, paired := m.alive[t.ID]; paired {
				m.alive[t.ID] = now + ticketAliveMS
			}
			return nil, false, nil
		}
		m.tickets[t.ID] = t
	}
	m.alive[t.ID] = now + ticketAliveMS
	var higher, lower []Ticket // the ticket itself counts, as in the scripts
	for id, c := range m.tickets {
		switch {
		case m.alive[id] < now:
			m.deleteTicket(id)
		case c.Rating() >= t.Rating():
			higher = append(higher, c)
		default:
			lower = append(lower, c)
		}
	}
	oldest := func(a, b Ticket) int { return cmp.Or(cmp.Compare(a.Rating(), b.Rating()), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(higher, oldest)
	slices.SortFunc(lower, func(a, b Ticket) int { return oldest(b, a) })
	var near []Ticket
	for _, side := range [][]Ticket{higher, lower} {
		from := min(s.Skip, len(side))
		near = append(near, side[from:min(from+s.Count, len(side))]...)
	}
	return slices.DeleteFunc(near, func(c Ticket) bool { return c.ID == t.ID }), true, nil
}

func (m *memoryStore) Pair(_ context.Context, p Pairing) (bool, error) {
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
		delete(m.tickets, t.ID)
		m.busy[t.Seat.Player] = Activity{Match: p.Match}
		m.duels[t.Seat.Player] = p.Match
	}
	m.pairings[p.Match] = p
	return true, nil
}

func (m *memoryStore) CompletePairing(_ context.Context, p Pairing) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.pairings[p.Match]; ok {
		delete(m.pairings, p.Match)
		for _, t := range p.Tickets {
			delete(m.alive, t.ID)
		}
	}
	return nil
}

func (m *memoryStore) RollBackPairing(_ context.Context, p Pairing, now int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.pairings[p.Match]; !ok {
		return false, nil
	}
	delete(m.pairings, p.Match)
	for _, t := range p.Tickets {
		if m.alive[t.ID] < now {
			delete(m.alive, t.ID)
			delete(m.busy, t.Seat.Player)
			continue
		}
		m.tickets[t.ID], m.busy[t.Seat.Player] = t, Activity{Ticket: t.ID}
	}
	return true, nil
}

func (m *memoryStore) Occupy(_ context.Context, o OccupyRequest, now int64) (Activity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, b := Activity{Match: o.Match}, m.busy[o.Player]
	_, forming := m.pairings[b.Match]
	if b != (Activity{}) && b != own && (b.Match == "" || b.Match != o.Former || forming) {
		if b.Match != "" || m.alive[b.Ticket] >= now {
			return b, nil
		}
		m.deleteTicket(b.Ticket)
	}
	m.busy[o.Player] = own
	return Activity{}, nil
}

func (m *memoryStore) RemoveTicket(_ context.Context, _, player string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.busy[player].Ticket
	if id != "" {
		delete(m.busy, player)
		m.deleteTicket(id)
	}
	return id, nil
}

func (m *memoryStore) ReadTicket(_ context.Context, _, id string) (Ticket, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, isWaiting := m.tickets[id]
	return t, isWaiting, nil
}

func (m *memoryStore) ReadActivity(_ context.Context, _, player string) (Activity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.busy[player]
	_, b.Forming = m.pairings[b.Match]
	b.Duel = m.duels[player]
	return b, nil
}

func (m *memoryStore) Free(_ context.Context, _, player, match string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy[player] == (Activity{Match: match}) {
		delete(m.busy, player)
	}
	if m.duels[player] == match {
		delete(m.duels, player)
	}
	return nil
}

func (m *memoryStore) ListPairings(context.Context, string) ([]Pairing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Pairing
	for _, p := range m.pairings {
		all = append(all, p)
	}
	return all, nil
}

var errDown = errors.New("the store is down")

// storeFault is what happens to one call of the store.
type storeFault int

const (
	faultNone        storeFault = iota
	faultNotExecuted            // the call does nothing
	faultReplyLost              // the call is executed, and its reply is lost
)

// faultyStore is a node's connection to the store. The function faultOf decides
// which fault each call of a method has; nil means no faults.
type faultyStore struct {
	*memoryStore
	mu      sync.Mutex
	calls   map[string]int
	faultOf func(method string) storeFault
}

func (l *faultyStore) setFault(f func(method string) storeFault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faultOf, l.calls = f, map[string]int{}
}

func (l *faultyStore) countCalls(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[method]
}

func (l *faultyStore) call(method string, call func() error) error {
	l.mu.Lock()
	f := faultNone
	if l.faultOf != nil {
		f = l.faultOf(method)
		l.calls[method]++
	}
	l.mu.Unlock()
	if f == faultNotExecuted {
		return errDown
	}
	if err := call(); err != nil || f == faultNone {
		return err
	}
	return errDown
}

func (l *faultyStore) AddTicket(ctx context.Context, t Ticket, former Activity, now int64) (waiting int64, with Activity, err error) {
	err = l.call("AddTicket", func() error { waiting, with, err = l.memoryStore.AddTicket(ctx, t, former, now); return err })
	return waiting, with, err
}

func (l *faultyStore) ListNearest(ctx context.Context, t Ticket, s Slice, now int64) (near []Ticket, isWaiting bool, err error) {
	err = l.call("ListNearest", func() error { near, isWaiting, err = l.memoryStore.ListNearest(ctx, t, s, now); return err })
	if err != nil {
		return nil, false, err
	}
	return near, isWaiting, nil
}

func (l *faultyStore) Pair(ctx context.Context, p Pairing) (won bool, err error) {
	err = l.call("Pair", func() error { won, err = l.memoryStore.Pair(ctx, p); return err })
	return won && err == nil, err
}

func (l *faultyStore) CompletePairing(ctx context.Context, p Pairing) error {
	return l.call("CompletePairing", func() error { return l.memoryStore.CompletePairing(ctx, p) })
}

func (l *faultyStore) RollBackPairing(ctx context.Context, p Pairing, now int64) (rolledBack bool, err error) {
	err = l.call("RollBackPairing", func() error { rolledBack, err = l.memoryStore.RollBackPairing(ctx, p, now); return err })
	return rolledBack && err == nil, err
}

func (l *faultyStore) ReadActivity(ctx context.Context, game, player string) (b Activity, err error) {
	err = l.call("ReadActivity", func() error { b, err = l.memoryStore.ReadActivity(ctx, game, player); return err })
	return b, err
}
