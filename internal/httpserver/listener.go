package httpserver

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"laststand/internal/overload"
)

// ProxyProtocol says how the PROXY protocol is used
// (haproxy.org/download/3.2/doc/proxy-protocol.txt, versions 1 and 2).
type ProxyProtocol string

// ProxyOff reads no PROXY headers. ProxyOptional accepts a header from a trusted proxy.
// ProxyRequired refuses each connection without a header from a trusted proxy.
const (
	ProxyOff      ProxyProtocol = "off"
	ProxyOptional ProxyProtocol = "optional"
	ProxyRequired ProxyProtocol = "required"
)

// ListenerConfig configures a Listener.
type ListenerConfig struct {
	Trusted        *TrustedProxies
	Protocol       ProxyProtocol
	MaxConnections int64         // maximum of open connections; 0: no limit
	MaxPerAddress  int64         // maximum of open connections per overload.AddressKey, except those of trusted proxies; 0: no limit
	HeaderTimeout  time.Duration // for reading the PROXY header

	// OnRefusal is called with the rule of each refusal. For the first two rules
	// it returns true if the connection must be refused, and false in dry run.
	// Its result for the other rules is ignored. It must not block.
	OnRefusal func(rule string) bool
}

// The rules that refuse a connection. The server closes it without an answer.
const (
	RuleTotal      = "connections"             // MaxConnections are open
	RulePerAddress = "connections_per_address" // MaxPerAddress connections from the same address are open
	RuleHeader     = "proxy_header"            // the header of a trusted proxy is invalid or too late
	RuleStranger   = "proxy_stranger"          // headers are required, and the peer is not trusted
)

// ConnectionRules returns all rules.
func ConnectionRules() []string { return []string{RuleTotal, RulePerAddress, RuleHeader, RuleStranger} }

// Listener limits its connections, and finds their client addresses behind
// proxies. It is safe for concurrent use. It starts no goroutines.
type Listener struct {
	net.Listener
	ListenerConfig

	mu   sync.Mutex
	open map[netip.Addr]int64 // number of open connections by overload.Network, and of all under allAddresses; only values above 0
}

// allAddresses is the key under which a Listener counts each connection.
var allAddresses netip.Addr // no client has the zero address

// NewListener wraps a listener. TLS must be added around the Listener, because a PROXY
// header comes before the TLS handshake.
func NewListener(inner net.Listener, config ListenerConfig) *Listener {
	return &Listener{Listener: inner, ListenerConfig: config, open: make(map[netip.Addr]int64)}
}

// OpenConnections returns the number of open connections.
func (d *Listener) OpenConnections() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[allAddresses]
}

// Accept returns the next connection that is not refused. The first Read, Write
// or RemoteAddr of the connection reads its PROXY header, so a slow header does
// not delay other connections. An invalid header closes the connection.
func (d *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := d.admit(accepted); admitted != nil {
			return admitted, nil
		}
		_ = accepted.Close() // without a response, which would cost more than it helps
	}
}

// admit registers a connection. It returns nil if a rule refuses it.
func (d *Listener) admit(accepted net.Conn) net.Conn {
	peer := tcpAddress(accepted.RemoteAddr())
	isTrusted := d.Trusted.Has(peer)
	if d.Protocol == ProxyRequired && !isTrusted {
		d.OnRefusal(RuleStranger)
		return nil
	}
	counted := &countedConn{Conn: accepted, listener: d}
	if !d.count(counted, allAddresses, d.MaxConnections, RuleTotal) {
		return nil
	}
	switch {
	case isTrusted && d.Protocol != ProxyOff:
		return &proxiedConn{countedConn: counted}
	case isTrusted: // a proxy has connections of many clients: no limit per address
	case !d.countClient(counted, peer):
		d.remove(counted)
		return nil
	}
	return counted
}

// countClient counts a connection for its client's address. It returns false if the address has
// too many.
func (d *Listener) countClient(conn *countedConn, client netip.Addr) bool {
	return d.count(conn, overload.Network(client), d.MaxPerAddress, RulePerAddress)
}

// count counts a connection under a key. It returns false if the key has the maximum, unless the
// rule is in dry run. It does nothing for a connection that is closed.
func (d *Listener) count(conn *countedConn, key netip.Addr, maximum int64, rule string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if conn.isClosed {
		return true
	}
	if maximum > 0 && d.open[key] >= maximum && d.OnRefusal(rule) {
		return false
	}
	d.open[key]++
	conn.keys = append(conn.keys, key)
	return true
}

func (d *Listener) remove(conn *countedConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range conn.keys {
		if d.open[key]--; d.open[key] == 0 {
			delete(d.open, key)
		}
	}
	conn.isClosed, conn.keys = true, nil
}

var (
	errTooManyFromAddress = errors.New("httpserver: the address has too many connections")
	errBadHeader          = errors.New("httpserver: a proxy's header of the PROXY protocol cannot be read")
)
