package limit

import (
	"net/netip"
)

// Key is whom a rule counts for. Keys compare by ==.
type Key struct {
	address    netip.Addr
	game, name string
	burst      int // 0: the rule's own
}

// hostBits are those of an IPv6 address that one customer has for its own.
const hostBits = 64

// Address is a client's address: one of IPv6 counts with all of its /64, since
// who has one has them all; one of IPv4 within IPv6 is that of IPv4. All that
// have none, the zero Addr, count together.
func Address(a netip.Addr) Key {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(hostBits); err == nil {
			a = p.Addr()
		}
	}
	return Key{address: a}
}

// Named is somebody or something of a game, by its id there.
func Named(game, name string) Key { return Key{game: game, name: name} }

// UpTo gives the key a smaller burst than the rule's own for one call, though no
// smaller than the rule's Most. All calls of a key share its bucket: what one has
// taken is missing from every burst.
func (k Key) UpTo(burst int) Key {
	k.burst = max(burst, 1) // 0 would be the rule's own
	return k
}

// String is the key as text, of its own among those of a rule.
func (k Key) String() string {
	switch {
	case k.name != "" || k.game != "":
		return k.game + "/" + k.name
	case k.address.Is6():
		return netip.PrefixFrom(k.address, hostBits).String()
	}
	return k.address.String()
}
