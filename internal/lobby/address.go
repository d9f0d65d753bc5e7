package lobby

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"

	"laststand/internal/overload"
)

// addressHash returns a keyed hash of a player's IP address for the ticket. For IPv6
// it is the hash of the /64 network. It returns "" if the game counts duels between
// players with the same address, or if the address is unknown.
func (l *Lobby) addressHash(game string, address netip.Addr) string {
	if l.Games[game].CountSameAddress || !address.IsValid() {
		return ""
	}
	mac := hmac.New(sha256.New, l.AddressKey)
	mac.Write([]byte(game + "\x00" + overload.AddressKey(address).String()))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// hasSameAddress reports whether two players have the same address in a game
// that does not count such duels.
func (p Pairing) hasSameAddress() bool {
	return len(p.Tickets) == 2 && p.Tickets[0].Address != "" && p.Tickets[0].Address == p.Tickets[1].Address
}
