package overload

import (
	"net/netip"
)

// Key identifies the address, player or other object whose actions a rule counts. Keys can
// be compared with ==.
type Key struct {
	address  netip.Addr
	game, id string
	burst    int // 0 means the rule's own burst
}

// hostBits is the number of low bits of an IPv6 address that one customer can choose.
const hostBits = 64

// AddressKey returns the key of a client's address. All IPv6 addresses of a /64 network
// have the same key, since one customer has the whole network. An IPv4 address mapped to
// IPv6 has the key of the IPv4 address. The zero Addr has a key too.
func AddressKey(address netip.Addr) Key {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if prefix, err := address.Prefix(hostBits); err == nil {
			address = prefix.Addr()
		}
	}
	return Key{address: address}
}

// ObjectKey returns the key of a player or another object of a game, by its id.
func ObjectKey(game, id string) Key { return Key{game: game, id: id} }

// WithBurst returns the key with a smaller burst than the rule's. A burst below the rule's
// Limit counts as Limit. The burst applies only to the call with this key. All calls with
// the key, with any burst, share one bucket.
func (k Key) WithBurst(burst int) Key {
	k.burst = max(burst, 1) // 0 would be the rule's own burst
	return k
}

// String returns the key as text, unique among the keys of a rule.
func (k Key) String() string {
	switch {
	case k.id != "" || k.game != "":
		return k.game + "/" + k.id
	case k.address.Is6():
		return netip.PrefixFrom(k.address, hostBits).String()
	}
	return k.address.String()
}
