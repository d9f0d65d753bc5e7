package httpposter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// BlockedError means that the client refused to connect to an address, because the
// address is not public.
type BlockedError struct{ Address string }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s is not an address of the public internet; if you trust the receiver, set allow_private: true", e.Address)
}

// Blocked identifies the error for packages that cannot import this one.
func (e *BlockedError) Blocked() bool { return true }

// refusePrivate checks the address immediately before the connection, after the name
// was resolved. So an attacker cannot pass the check with a name that resolves to
// another address the next time.
func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(host.Addr()) {
		return &BlockedError{Address: address}
	}
	return nil
}

// isPublic returns true if an address is globally reachable, by the special-purpose
// registries of IANA. It returns false for an address that has another address
// embedded in it.
func isPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("") // a prefix contains no address with a zone
	if !address.IsValid() || address.Is6() && !globalUnicast6.Contains(address) {
		return false
	}
	return !slices.ContainsFunc(specialPurpose, func(p netip.Prefix) bool { return p.Contains(address) })
}

// globalUnicast6 is the whole range that is assigned for global unicast. Outside
// of it are loopback, unique local, link-local and multicast addresses. So are
// those with an IPv4 address inside, and NAT64 (64:ff9b::/96, 64:ff9b:1::/48).
var globalUnicast6 = netip.MustParsePrefix("2000::/3")

// specialPurpose lists the ranges that are not public.
var specialPurpose = parsePrefixes(
	"0.0.0.0/8",        // this host
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // between a provider and its customers; metadata of Alibaba
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // metadata of Azure
	"169.254.0.0/16",   // link-local; metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocols; metadata of Oracle
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved; broadcast
	"2001::/23",        // protocols; Teredo has an IPv4 address within it
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4 has an IPv4 address within it
	"3fff::/20",        // documentation
)

func parsePrefixes(ranges ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(ranges))
	for i, text := range ranges {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}
