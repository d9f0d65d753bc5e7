package httpapi

import (
	"net/http"
	"net/netip"

	"laststand/internal/overload"
)

// Limits holds the rate limits of the HTTP API. A nil rule means no limit.
type Limits struct {
	GuestCalls       *overload.Rule           // all requests for guests, per address
	NewGuests        *overload.Rule           // new guests without an arena code, per address
	GuestsWithCode   *overload.Rule           // new guests with an arena code, per address; its burst must allow the largest arena
	GuestsPerArena   *overload.Rule           // new guests with an arena code, per arena
	NewGuestsPerDay  *overload.Rule           // all new guests, per address
	ArenaCodes       *overload.FailureLimiter // wrong arena codes, per address
	Nicknames        *overload.Rule           // nickname lookups, per address
	Reads            *overload.Rule           // reads of leaderboards, profiles, matches and arenas, per address
	ArenasPerHost    *overload.Rule           // created arenas, per host
	ArenasPerAddress *overload.Rule           // arenas that players create, per address
	Erasures         *overload.Rule           // players who erase themselves, per address
	Changes          *overload.Rule           // changes of nickname and account, per player
	Behaviours       *overload.Rule           // behaviours, per service
	Tasks            *overload.Rule           // task requests, per service
}

// peerAddress returns the address of the peer of the request's connection.
func peerAddress(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // without an address the key is the zero Addr
	return peer.Addr()
}
