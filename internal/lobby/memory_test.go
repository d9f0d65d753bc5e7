package lobby

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
)

const ticketAliveMS = 5000 // how long a ticket lives without renewal

// memoryStore implements Store with maps, as the Lua scripts of package redisstore do.
type memoryStore struct {
	mu sync.Mutex
	storeTables
}

type storeTables struct {
	tickets    map[string]Ticket   // waiting tickets by id
	aliveUntil map[string]int64    // expiry by ticket id, epoch ms
	activities map[string]Activity // by player
	lastDuels  map[string]string   // last duel by player
	pairings   map[string]Pairing  // by match id
}

func newMemoryStore() *memoryStore {
	return &memoryStore{storeTables: storeTables{
		tickets: map[string]Ticket{}, aliveUntil: map[string]int64{}, activities: map[string]Activity{}, lastDuels: map[string]string{}, pairings: map[string]Pairing{},
	}}
}

// copyTables returns a copy of all tables.
func (m *memoryStore) copyTables() storeTables {
	m.mu.Lock()
	defer m.mu.Unlock()
	return storeTables{maps.Clone(m.tickets), maps.Clone(m.aliveUntil), maps.Clone(m.activities), maps.Clone(m.lastDuels), maps.Clone(m.pairings)}
}

// AddTicket is one step, as the script is: no node can pair the ticket before its listing is read.
func (m *memoryStore) AddTicket(_ context.Context, ticket Ticket, former Activity, now int64) (Listing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if activity := m.addTicket(ticket, former, now); activity.Ticket != ticket.ID {
		return Listing{Activity: activity}, nil
	}
	return m.listNearest(ticket, FirstSlice, now), nil
}

// addTicket returns the player's activity after the call. The caller holds mu.
func (m *memoryStore) addTicket(ticket Ticket, former Activity, now int64) Activity {
	newActivity, former := Activity{Ticket: ticket.ID}, Activity{Match: former.Match}
	if activity := m.activities[ticket.Seat.Player]; activity != (Activity{}) && activity != former && activity != newActivity {
		if activity.Match != "" || m.aliveUntil[activity.Ticket] >= now {
			return activity
		}
		m.deleteTicket(activity.Ticket)
	}
	m.activities[ticket.Seat.Player] = newActivity
	m.tickets[ticket.ID], m.aliveUntil[ticket.ID] = ticket, now+ticketAliveMS
	return newActivity
}

// deleteTicket removes a ticket. The caller holds mu.
func (m *memoryStore) deleteTicket(id string) {
	delete(m.tickets, id)
	delete(m.aliveUntil, id)
}

func (m *memoryStore) ListNearest(_ context.Context, own Ticket, slice Slice, now int64) (Listing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listNearest(own, slice, now), nil
}

// listNearest is ListNearest for a caller that holds mu.
func (m *memoryStore) listNearest(own Ticket, slice Slice, now int64) Listing {
	activity := m.activities[own.Seat.Player]
	if activity.Ticket != own.ID {
		if _, paired := m.aliveUntil[own.ID]; paired {
			m.aliveUntil[own.ID] = now + ticketAliveMS
		}
		_, activity.Forming = m.pairings[activity.Match]
		return Listing{Activity: activity}
	}
	m.tickets[own.ID] = own
	m.aliveUntil[own.ID] = now + ticketAliveMS
	var higher, lower []Ticket // the ticket itself counts, as in the scripts
	for id, other := range m.tickets {
		switch {
		case m.aliveUntil[id] < now:
			m.deleteTicket(id)
		case other.Rating() >= own.Rating():
			higher = append(higher, other)
		default:
			lower = append(lower, other)
		}
	}
	byRatingAndAge := func(a, b Ticket) int { return cmp.Or(cmp.Compare(a.Rating(), b.Rating()), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(higher, byRatingAndAge)
	slices.SortFunc(lower, func(a, b Ticket) int { return byRatingAndAge(b, a) })
	var near []ListedTicket
	for _, side := range [][]Ticket{higher, lower} {
		from := min(slice.Skip, len(side))
		for _, other := range side[from:min(from+slice.Count, len(side))] {
			if other.ID != own.ID {
				text, _ := json.Marshal(other) // a ticket can always be encoded
				near = append(near, ListedTicket{other.ID, other.Rating(), string(text)})
			}
		}
	}
	return Listing{Activity: activity, Waiting: int64(len(m.tickets)), Nearest: near}
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
		m.activities[t.Seat.Player] = Activity{Match: p.Match}
		m.lastDuels[t.Seat.Player] = p.Match
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
			delete(m.aliveUntil, t.ID)
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
		if m.aliveUntil[t.ID] < now {
			delete(m.aliveUntil, t.ID)
			delete(m.activities, t.Seat.Player)
			continue
		}
		m.tickets[t.ID], m.activities[t.Seat.Player] = t, Activity{Ticket: t.ID}
	}
	return true, nil
}

func (m *memoryStore) Occupy(_ context.Context, request OccupyRequest, now int64) (Activity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newActivity, activity := Activity{Match: request.Match}, m.activities[request.Player]
	_, forming := m.pairings[activity.Match]
	if activity != (Activity{}) && activity != newActivity && (activity.Match == "" || activity.Match != request.Former || forming) {
		if activity.Match != "" || m.aliveUntil[activity.Ticket] >= now {
			return activity, nil
		}
		m.deleteTicket(activity.Ticket)
	}
	m.activities[request.Player] = newActivity
	return Activity{}, nil
}

func (m *memoryStore) RemoveTicket(_ context.Context, _, player string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.activities[player].Ticket
	if id != "" {
		delete(m.activities, player)
		m.deleteTicket(id)
	}
	return id, nil
}

func (m *memoryStore) ReadTicket(_ context.Context, _, id string) (Ticket, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ticket, isWaiting := m.tickets[id]
	return ticket, isWaiting, nil
}

func (m *memoryStore) ReadActivity(_ context.Context, _, player string) (Activity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	activity := m.activities[player]
	_, activity.Forming = m.pairings[activity.Match]
	activity.Duel = m.lastDuels[player]
	return activity, nil
}

func (m *memoryStore) Free(_ context.Context, _ string, players []PlayerMatch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, freed := range players {
		if m.activities[freed.Player] == (Activity{Match: freed.Match}) {
			delete(m.activities, freed.Player)
		}
		if m.lastDuels[freed.Player] == freed.Match {
			delete(m.lastDuels, freed.Player)
		}
	}
	return nil
}

func (m *memoryStore) ListPairings(context.Context, string) ([]Pairing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var pairings []Pairing
	for _, p := range m.pairings {
		pairings = append(pairings, p)
	}
	return pairings, nil
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

func (s *faultyStore) setFault(f func(method string) storeFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faultOf, s.calls = f, map[string]int{}
}

func (s *faultyStore) countCalls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

func (s *faultyStore) call(method string, call func() error) error {
	s.mu.Lock()
	f := faultNone
	if s.faultOf != nil {
		f = s.faultOf(method)
		s.calls[method]++
	}
	s.mu.Unlock()
	if f == faultNotExecuted {
		return errDown
	}
	if err := call(); err != nil || f == faultNone {
		return err
	}
	return errDown
}

func (s *faultyStore) AddTicket(ctx context.Context, t Ticket, former Activity, now int64) (listing Listing, err error) {
	err = s.call("AddTicket", func() error { listing, err = s.memoryStore.AddTicket(ctx, t, former, now); return err })
	return listing, err
}

func (s *faultyStore) ListNearest(ctx context.Context, t Ticket, slice Slice, now int64) (listing Listing, err error) {
	err = s.call("ListNearest", func() error { listing, err = s.memoryStore.ListNearest(ctx, t, slice, now); return err })
	return listing, err
}

func (s *faultyStore) Free(ctx context.Context, game string, players []PlayerMatch) error {
	return s.call("Free", func() error { return s.memoryStore.Free(ctx, game, players) })
}

func (s *faultyStore) Pair(ctx context.Context, p Pairing) (isPaired bool, err error) {
	err = s.call("Pair", func() error { isPaired, err = s.memoryStore.Pair(ctx, p); return err })
	return isPaired && err == nil, err
}

func (s *faultyStore) CompletePairing(ctx context.Context, p Pairing) error {
	return s.call("CompletePairing", func() error { return s.memoryStore.CompletePairing(ctx, p) })
}

func (s *faultyStore) RollBackPairing(ctx context.Context, p Pairing, now int64) (rolledBack bool, err error) {
	err = s.call("RollBackPairing", func() error { rolledBack, err = s.memoryStore.RollBackPairing(ctx, p, now); return err })
	return rolledBack && err == nil, err
}

func (s *faultyStore) ReadActivity(ctx context.Context, game, player string) (activity Activity, err error) {
	err = s.call("ReadActivity", func() error { activity, err = s.memoryStore.ReadActivity(ctx, game, player); return err })
	return activity, err
}
