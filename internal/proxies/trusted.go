package proxies

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// TrustedProxies is the set of trusted proxy addresses. The zero value and nil
// trust no address. It is safe for concurrent use.
type Trusted struct {
	ranges []netip.Prefix

	// OnUntrustedForward is called if a peer that is not trusted has sent
	// X-Forwarded-For. The peer is an attacker, or a proxy that is missing in
	// the configuration. nil: not called.
	Doubted func(peer netip.Addr)
}

// ParseTrusted parses ranges such as 10.0.0.0/8, and single addresses. The error
// lists all invalid ones.
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
		return r, fmt.Errorf("%q is no address and no range; use a form such as 10.0.0.0/8", text)
	case r.Bits() == 0:
		return r, fmt.Errorf("%q trusts all addresses, so clients could forge theirs; list the addresses of your proxies", text)
	}
	return r.Masked(), nil
}

// Has returns true if an address belongs to a trusted proxy.
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
func (t *Trusted) Client(r *http.Request) netip.Addr {
	client := Address(r.RemoteAddr)
	reported := r.Header["X-Forwarded-For"]
	if len(reported) == 0 {
		return client
	}
	if !t.Has(client) {
		if t != nil && t.Doubted != nil {
			t.Doubted(client)
		}
		return client
	}
	return t.walk(client, reported)
}

// IsTLS returns true if the client uses TLS to this node, or to a proxy according
// to X-Forwarded-Proto from a trusted proxy.
func (t *Trusted) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	said := r.Header.Get("X-Forwarded-Proto")
	return said != "" && t.Has(Address(r.RemoteAddr)) && strings.EqualFold(said, "https")
}

// lastUntrusted reads the entries of X-Forwarded-For from the right, as long as
// trusted proxies have written them, and returns the last address that it has
// read. Several headers form one list, in their order (RFC 9110, 5.3).
func (t *Trusted) walk(client netip.Addr, reported []string) netip.Addr {
	for i := len(reported) - 1; i >= 0; i-- {
		for left, more := reported[i], true; more; {
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

// cutLast splits a list at its last comma. more is false if there is none.
func cutLast(list string) (left, last string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}

// ParseAddress parses an IP address with or without a port. It returns the zero value
// for anything else.
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

// tcpAddress returns the IP address of one end of a TCP connection, or the zero
// value for any other connection.
func addressOf(end net.Addr) netip.Addr {
	if tcp, ok := end.(*net.TCPAddr); ok {
		return plain(tcp.AddrPort().Addr())
	}
	return netip.Addr{}
}
