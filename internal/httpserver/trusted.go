package httpserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// TrustedProxies is the set of trusted proxy addresses. The zero value and nil
// trust no address. It is safe for concurrent use.
type TrustedProxies struct {
	ranges []netip.Prefix

	// OnUntrustedForward is called if a peer that is not trusted has sent
	// X-Forwarded-For. The peer is an attacker, or a proxy that is missing in
	// the configuration. nil: not called.
	OnUntrustedForward func(peer netip.Addr)
}

// ParseTrustedProxies parses ranges such as 10.0.0.0/8, and single addresses. The error
// lists all invalid ones.
func ParseTrustedProxies(ranges []string) (*TrustedProxies, error) {
	var trusted TrustedProxies
	var errs []error
	for _, text := range ranges {
		prefix, err := parseRange(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		trusted.ranges = append(trusted.ranges, prefix)
	}
	return &trusted, errors.Join(errs...)
}

func parseRange(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil || prefix.Addr().Is4In6():
		return prefix, fmt.Errorf("%q is no address and no range; use a form such as 10.0.0.0/8", text)
	case prefix.Bits() == 0:
		return prefix, fmt.Errorf("%q trusts all addresses, so clients could forge theirs; list the addresses of your proxies", text)
	}
	return prefix.Masked(), nil
}

// Has returns true if an address belongs to a trusted proxy.
func (t *TrustedProxies) Has(address netip.Addr) bool {
	if t == nil {
		return false
	}
	address = normalize(address)
	return slices.ContainsFunc(t.ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}

// ClientAddress returns the address of the client of a request. Without a trusted
// proxy, that is the peer of the connection.
//
// Behind a trusted proxy, it reads X-Forwarded-For from the right and returns the
// first address that is not trusted. If all are trusted, it returns the leftmost.
// If an entry is invalid, it returns the address of the proxy that wrote it. It
// does not read the header Forwarded (RFC 7239).
//
// It returns an IPv4 address mapped to IPv6 as IPv4. If the peer has no address,
// as on a Unix socket, it returns the zero value.
func (t *TrustedProxies) ClientAddress(r *http.Request) netip.Addr {
	client := ParseAddress(r.RemoteAddr)
	forwarded := r.Header["X-Forwarded-For"]
	if len(forwarded) == 0 {
		return client
	}
	if !t.Has(client) {
		if t != nil && t.OnUntrustedForward != nil {
			t.OnUntrustedForward(client)
		}
		return client
	}
	return t.lastUntrusted(client, forwarded)
}

// IsTLS returns true if the client uses TLS to this node, or to a proxy according
// to X-Forwarded-Proto from a trusted proxy.
func (t *TrustedProxies) IsTLS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	proto := r.Header.Get("X-Forwarded-Proto")
	return proto != "" && t.Has(ParseAddress(r.RemoteAddr)) && strings.EqualFold(proto, "https")
}

// lastUntrusted reads the entries of X-Forwarded-For from the right, as long as
// trusted proxies have written them, and returns the last address that it has
// read. Several headers form one list, in their order (RFC 9110, 5.3).
func (t *TrustedProxies) lastUntrusted(client netip.Addr, forwarded []string) netip.Addr {
	for _, hop := range slices.Backward(strings.Split(strings.Join(forwarded, ","), ",")) {
		address := ParseAddress(strings.Trim(hop, " \t"))
		if !address.IsValid() {
			return client
		}
		if client = address; !t.Has(client) {
			return client
		}
	}
	return client
}

// ParseAddress parses an IP address with or without a port. It returns the zero value
// for anything else.
func ParseAddress(text string) netip.Addr {
	if address, err := netip.ParseAddr(text); err == nil {
		return normalize(address)
	}
	if addrPort, err := netip.ParseAddrPort(text); err == nil {
		return normalize(addrPort.Addr())
	}
	if inner, ok := strings.CutPrefix(text, "["); ok { // [::1] without a port
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			if address, err := netip.ParseAddr(inner); err == nil && address.Is6() {
				return normalize(address)
			}
		}
	}
	return netip.Addr{}
}

func normalize(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// tcpAddress returns the IP address of one end of a TCP connection, or the zero
// value for any other connection.
func tcpAddress(end net.Addr) netip.Addr {
	if tcp, ok := end.(*net.TCPAddr); ok {
		return normalize(tcp.AddrPort().Addr())
	}
	return netip.Addr{}
}
