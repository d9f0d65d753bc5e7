package lobby

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"

	"laststand/internal/limit"
)

// addressHash returns what a ticket keeps of its player's address: a keyed hash,
// of an IPv6 address that of its /64. It returns "" if the game counts duels of
// one address, or if the address is unknown.
func (l *Lobby) addressHash(game string, a netip.Addr) string {
	if l.Games[game].CountSameAddress || !a.IsValid() {
		return ""
	}
	mac := hmac.New(sha256.New, l.AddressKey)
	mac.Write([]byte(game + "\x00" + limit.Address(a).String()))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// hasSameAddress reports whether two players wait at one address whose duels do not
// count.
func (p Pairing) hasSameAddress() bool {
	return len(p.Tickets) == 2 && p.Tickets[0].Address != "" && p.Tickets[0].Address == p.Tickets[1].Address
}
