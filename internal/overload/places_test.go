package overload

import (
	"fmt"
	"net/netip"
	"testing"
)

// testNetwork returns the network of a client.
func testNetwork(client string) netip.Addr {
	var bytes [16]byte
	copy(bytes[:], client)
	return netip.AddrFrom16(bytes)
}

// newTestPlaces returns places, and a function that takes one for an address.
func newTestPlaces(config PlacesConfig) (places *Places, take func(client string) *Place, evicted map[*Place]bool) {
	places, evicted = NewPlaces(config), map[*Place]bool{}
	return places, func(client string) *Place {
		place := &Place{Address: testNetwork(client)}
		place.Evict = func() { evicted[place] = true }
		if taken, _ := places.Take(place); !taken {
			return nil
		}
		return place
	}, evicted
}

// The share of an address falls with the number of places in use.
func TestShareOfAddressFallsWithFreePlaces(t *testing.T) {
	t.Parallel()
	for open, want := range map[int64]int64{0: 200, 500: 200, 501: 199, 750: 100, 900: 40, 950: 20, 960: 16, 999: 10, 1000: 10, 1400: 10} {
		places := NewPlaces(PlacesConfig{Max: 1000, PerAddress: 200})
		places.open = open
		if got := places.share(); got != want {
			t.Errorf("%d open: %d, want %d", open, got, want)
		}
	}
	for open, want := range map[int64]int64{0: 3, 1: 1, 2: 1} {
		places := NewPlaces(PlacesConfig{Max: 1, PerAddress: 3})
		places.open = open
		if got := places.share(); got != want {
			t.Errorf("%d open of one place: %d, want %d", open, got, want)
		}
	}
}

// At the limit of connections without a hello, the oldest one of the address with the most
// is evicted. A connection that has sent its hello is not.
func TestOldestPendingOfLargestAddressIsEvicted(t *testing.T) {
	t.Parallel()
	places, take, evicted := newTestPlaces(PlacesConfig{Max: 100})
	first := take("school")
	greeted := take("flood")
	places.HelloReceived(greeted)
	var flood []*Place
	for range minPendingLimit - 1 {
		flood = append(flood, take("flood"))
	}
	for i := range 20 {
		if take(fmt.Sprint("new", i)) == nil || len(evicted) != i+1 {
			t.Fatalf("%d evicted after %d connections", len(evicted), i+1)
		}
		if !evicted[flood[i]] {
			t.Fatalf("connection %d of the flood was not evicted next", i)
		}
	}
	if evicted[first] {
		t.Error("the oldest connection of another address was evicted")
	}
}

// A full node refuses, unless an address has more connections without a hello than the new
// one's address would have. An evicted connection frees its place once.
func TestFullNodeEvictsOnlyLargerAddresses(t *testing.T) {
	t.Parallel()
	places, take, evicted := newTestPlaces(PlacesConfig{Max: 3})
	flood := []*Place{take("flood"), take("flood"), take("flood")}
	if take("flood") != nil || take("other") == nil || len(evicted) != 1 {
		t.Errorf("%d evicted", len(evicted))
	}
	if take("other") != nil || take("third") == nil || take("fourth") != nil {
		t.Error("a place was taken from an address that has as few")
	}
	for _, place := range flood {
		places.Release(place)
	}
	if places.open != 2 || places.pending.Len() != 2 || len(places.perAddress) != 2 {
		t.Errorf("%d open, %d pending, %d addresses", places.open, places.pending.Len(), len(places.perAddress))
	}
}

// The last places are for players in a match, and so are places above the share of an
// address. If PerAddress refuses the only address, that is reported.
func TestLastPlacesAndSharesAreForPlayersInMatch(t *testing.T) {
	t.Parallel()
	places, take, _ := newTestPlaces(PlacesConfig{Max: 20, PerAddress: 4})
	for range 4 {
		if place := take("a"); !place.IsForAnyone() || places.CheckNotPlaying(place) != nil {
			t.Error("a place is not for anyone")
		}
	}
	if taken, isSingle := places.Take(&Place{Address: testNetwork("a")}); taken || !isSingle {
		t.Errorf("taken %v, single address %v", taken, isSingle)
	}
	for i := range 13 {
		take(fmt.Sprint("b", i))
	}
	take("c")
	if place := take("c"); place.IsForAnyone() || places.CheckNotPlaying(place) == nil {
		t.Error("a place above the share is for anyone")
	}
	if place := take("d"); place.IsForAnyone() || places.CheckNotPlaying(place) == nil || places.Excess() != 3 {
		t.Errorf("the last place is for anyone; excess %d", places.Excess())
	}
}
