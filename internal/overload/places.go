package overload

import (
	"container/list"
	"net/netip"
	"sync"

	"laststand/internal/protocol"
)

// Shares of a node's places, as divisors of PlacesConfig.Max.
const (
	reservedDivisor  = 20 // the last twentieth of the places is for players in a match
	lowPlacesDivisor = 10 // places are low when the last tenth is in use
	pendingDivisor   = 10 // at most a tenth of the places may have connections without a hello
	minPendingLimit  = 64 // the limit of connections without a hello is at least this
	// minShareDivisor sets the smallest share of an address: a twentieth of PerAddress.
	minShareDivisor = 20
	// maxCandidates is how many connections without a hello are compared for an eviction.
	maxCandidates = 64

	placesRetryMS = 2000 // refused clients retry after this time
)

// PlacesConfig configures Places. A Cap counts the refusals of a limit and decides whether
// the limit is enforced; a nil Cap enforces it.
type PlacesConfig struct {
	Max        int64 // maximum of connections at this node
	PerAddress int64 // maximum of connections per address, 0 for no limit

	TotalCap   *Cap // of Max, and of the last places, which players in no match do not get
	AddressCap *Cap // of PerAddress, and of the share of an address as the node fills
	PendingCap *Cap // of connections without a hello: at the limit a new one evicts an older one
}

// Places shares the connections of a node among addresses. It is safe for concurrent use.
//
// If the connections without a hello are at their limit, a new connection evicts one of
// them: of the oldest maxCandidates, the oldest of the address with the most. A full node
// evicts that one only if its address has more of them than the new one's address would
// have. Otherwise a full node refuses the new connection.
type Places struct {
	PlacesConfig

	mu           sync.Mutex
	open         int64 // taken places
	perAddress   map[netip.Addr]int64
	pending      list.List // places without a hello, oldest first
	pendingCount map[netip.Addr]int64
}

// Place is a connection's place. Places guards all fields except Address and Evict.
type Place struct {
	Address netip.Addr // the Network of the client
	Evict   func()     // closes the connection, which has lost its place

	taken      bool
	reserved   bool          // one of the last places: only for players in a match
	aboveShare bool          // above the share of its address: only for players in a match
	pendingPos *list.Element // in Places.pending; nil after the hello
}

// NewPlaces returns places that are all free.
func NewPlaces(config PlacesConfig) *Places {
	return &Places{PlacesConfig: config, perAddress: make(map[netip.Addr]int64), pendingCount: make(map[netip.Addr]int64)}
}

// Take takes a place, and evicts another connection if necessary. It returns false if the
// node refuses the connection. isSingleAddress is true if PerAddress refuses it, and no
// other address is connected.
func (p *Places) Take(place *Place) (taken, isSingleAddress bool) {
	p.mu.Lock()
	if p.PerAddress > 0 && p.perAddress[place.Address] >= p.PerAddress && p.AddressCap.Refuse() {
		defer p.mu.Unlock()
		return false, len(p.perAddress) == 1
	}
	var victim *Place
	candidate, isFull := p.evictionCandidate(), p.open >= p.Max
	switch {
	case isFull && candidate != nil && p.pendingCount[candidate.Address] > p.pendingCount[place.Address]+1 && p.PendingCap.Refuse():
		victim = candidate
	case isFull && p.TotalCap.Refuse():
		p.mu.Unlock()
		return false, false
	case !isFull && int64(p.pending.Len()) >= max(p.Max/pendingDivisor, minPendingLimit) && p.PendingCap.Refuse():
		victim = candidate
	}
	if victim != nil {
		p.release(victim)
	}
	p.add(place)
	p.mu.Unlock()
	if victim != nil {
		victim.Evict()
	}
	return true, false
}

// add adds a place that is taken. The caller holds mu.
func (p *Places) add(place *Place) {
	place.reserved = p.open >= p.Max-p.Max/reservedDivisor
	place.aboveShare = !place.reserved && p.PerAddress > 0 && p.perAddress[place.Address] >= p.share()
	place.pendingPos = p.pending.PushBack(place)
	p.pendingCount[place.Address]++
	p.perAddress[place.Address]++
	p.open++
	place.taken = true
}

// share returns how many connections one address may have whose players are in no match.
// While at most half of Max are open, it is PerAddress. Above that it falls in proportion
// to the free places, down to a twentieth of PerAddress. So an attacker needs more and
// more addresses to fill the last places. The caller holds mu.
//
// With Max 1,000 and PerAddress 200: 200 at 500 open connections, 100 at 750, 20 at 950.
func (p *Places) share() int64 {
	halfFull := p.Max / 2
	if p.open <= halfFull || p.Max == halfFull {
		return p.PerAddress
	}
	freeFraction := float64(p.Max-p.open) / float64(p.Max-halfFull)
	return max(int64(float64(p.PerAddress)*freeFraction), p.PerAddress/minShareDivisor, 1)
}

// evictionCandidate returns the connection without a hello to evict first, nil for none.
// The caller holds mu.
func (p *Places) evictionCandidate() (candidate *Place) {
	pos := p.pending.Front()
	for range min(p.pending.Len(), maxCandidates) {
		place := pos.Value.(*Place)
		if candidate == nil || p.pendingCount[place.Address] > p.pendingCount[candidate.Address] {
			candidate = place
		}
		pos = pos.Next()
	}
	return candidate
}

// removePending removes a connection from those without a hello. The caller holds mu.
func (p *Places) removePending(place *Place) {
	if place.pendingPos == nil {
		return
	}
	p.pending.Remove(place.pendingPos)
	place.pendingPos = nil
	decrement(p.pendingCount, place.Address)
}

// HelloReceived notes that a connection has sent its hello.
func (p *Places) HelloReceived(place *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removePending(place)
}

// Release frees the place of a connection that has ended or is being closed. A second call
// does nothing.
func (p *Places) Release(place *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(place)
}

// release is Release; the caller holds mu.
func (p *Places) release(place *Place) {
	if !place.taken {
		return
	}
	place.taken = false
	p.removePending(place)
	decrement(p.perAddress, place.Address)
	p.open--
}

func decrement(counts map[netip.Addr]int64, network netip.Addr) {
	if counts[network]--; counts[network] == 0 {
		delete(counts, network)
	}
}

// Excess returns how many connections are open above the number at which places are low,
// 0 or less if places are not low.
func (p *Places) Excess() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open - (p.Max - p.Max/lowPlacesDivisor) + 1
}

// IsForAnyone returns true if players in no match may have the place.
func (place *Place) IsForAnyone() bool { return !place.reserved && !place.aboveShare }

// CheckNotPlaying refuses a player who is in no match, if the place is only for players in
// a match.
func (p *Places) CheckNotPlaying(place *Place) error {
	switch {
	case place.reserved && p.TotalCap.Refuse():
		return protocol.RetryAfter(protocol.CodeOverloaded, placesRetryMS, "the last places are reserved for players in a match")
	case place.aboveShare && p.AddressCap.Refuse():
		return protocol.RetryAfter(protocol.CodeOverloaded, placesRetryMS, "this address has too many connections; its last places are reserved for players in a match")
	}
	return nil
}
