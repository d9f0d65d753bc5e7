// Package proxies is the door of a node: whom a connection and a request are
// from, as the proxies that are trusted tell it, and how many connections there
// may be. Nobody else is believed: what a stranger says of itself is not read.
package proxies

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Trusted are the addresses of proxies whose word counts. The zero value, and
// nil, trust nobody. It is safe for concurrent use.
type Trusted struct {
	ranges []netip.Prefix

	// Doubted is told of a peer that is not trusted and sent X-Forwarded-For: a
	// liar, or a proxy that nobody has configured. It may be nil.
	Doubted func(peer netip.Addr)
}

// Trust reads ranges such as 10.0.0.0/8, and single addresses. The error names
// all that are neither.
func Trust(ranges []string) (*Trusted, error) {
	var t Trusted
	var errs []error
	for _, text := range ranges {
		r, err := readRange(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.ranges = append(t.ranges, r)
	}
	return &t, errors.Join(errs...)
}

func readRange(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	r, err := netip.ParsePrefix(text)
	switch {
	case err != nil || r.Addr().Is4In6():
		return r, fmt.Errorf("%q is no range of addresses such as 10.0.0.0/8, and no address", text)
	case r.Bits() == 0:
		return r, fmt.Errorf("%q trusts everybody: anyone could say to be anyone; name the addresses of your proxies", text)
	}
	return r.Masked(), nil
}

// Has says whether an address is a trusted proxy's.
func (t *Trusted) Has(a netip.Addr) bool {
	if t == nil {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, r := range t.ranges {
		if r.Contains(a) {
			return true
		}
	}
	return false
}

// Client is the address of who made a request: the peer of its connection (as
// the PROXY protocol tells it, see Listen), or, where that is a trusted proxy,
// the last entry of X-Forwarded-For that is not one; where all are, the first.
// An entry that is no address ends the search: its writer is the client. Forwarded
// (RFC 7239) is not read. IPv4 in IPv6 is given as IPv4; without an address, as on a Unix
// socket, the zero value.
func (t *Trusted) Client(r *http.Request) netip.Addr {
	client := Address(r.RemoteAddr)
	told := r.Header["X-Forwarded-For"]
	if len(told) == 0 {
		return client
	}
	if !t.Has(client) {
		if t != nil && t.Doubted != nil {
			t.Doubted(client)
		}
		return client
	}
	return t.walk(client, told)
}

// Secure says whether the client's own connection is TLS: that of the request, or,
// as X-Forwarded-Proto of a trusted proxy has it, the one to the first proxy.
func (t *Trusted) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	said := r.Header.Get("X-Forwarded-Proto")
	return said != "" && t.Has(Address(r.RemoteAddr)) && strings.EqualFold(said, "https")
}

// walk goes through the hops from the right, as long as their writers are
// trusted. Several headers are one list, in their order (RFC 9110, 5.3).
func (t *Trusted) walk(client netip.Addr, told []string) netip.Addr {
	for i := len(told) - 1; i >= 0; i-- {
		for left, more := told[i], true; more; {
			var hop string
			left, hop, more = cutLast(left)
			next := Address(strings.Trim(hop, " \t"))
			if !next.IsValid() {
				return client
			}
			if client = next; !t.Has(client) {
				return client
			}
		}
	}
	return client
}

// cutLast splits a list at its last comma.
func cutLast(list string) (left, last string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}

// Address reads an address, with a port or without; invalid for anything else.
func Address(text string) netip.Addr {
	if a, err := netip.ParseAddr(text); err == nil {
		return plain(a)
	}
	if p, err := netip.ParseAddrPort(text); err == nil {
		return plain(p.Addr())
	}
	if inner, ok := strings.CutPrefix(text, "["); ok { // [::1] without a port
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			if a, err := netip.ParseAddr(inner); err == nil && a.Is6() {
				return plain(a)
			}
		}
	}
	return netip.Addr{}
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// addressOf is the address of an end of a connection; invalid where it has none.
func addressOf(end net.Addr) netip.Addr {
	if tcp, ok := end.(*net.TCPAddr); ok {
		return plain(tcp.AddrPort().Addr())
	}
	return netip.Addr{}
}
