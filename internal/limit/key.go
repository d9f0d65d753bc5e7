package limit

import (
	"net/netip"
)

// Key is what a rule counts for: an address, a player or an arena. Keys compare by ==.
type Key struct {
	address    netip.Addr
	game, name string
	burst      int // 0 means the rule's own burst
}

// hostBits are the low bits of an IPv6 address, which one customer has as a whole.
const hostBits = 64

// Address returns the key of a client's address. An IPv6 address counts as its /64,
// since a customer has all of it. IPv4 within IPv6 counts as IPv4. All zero Addr share
// a key.
func Address(a netip.Addr) Key {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if prefix, err := a.Prefix(hostBits); err == nil {
			a = prefix.Addr()
		}
	}
	return Key{address: a}
}

// Named returns the key of a player or another object of a game, by its id.
func Named(game, name string) Key { return Key{game: game, name: name} }

// WithBurst returns the key with a burst smaller than the rule's, though at least the
// rule's Limit. It holds for one call. All calls of a key share one bucket: tokens that
// one call takes are missing for all.
func (k Key) WithBurst(burst int) Key {
	k.burst = max(burst, 1) // 0 would be the rule's own burst
	return k
}

// String returns the key as text, unique among the keys of a rule.
func (k Key) String() string {
	switch {
	case k.name != "" || k.game != "":
		return k.game + "/" + k.name
	case k.address.Is6():
		return netip.PrefixFrom(k.address, hostBits).String()
	}
	return k.address.String()
}
