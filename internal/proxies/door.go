package proxies

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"laststand/internal/limit"
)

// Protocol says how the PROXY protocol is used
// (haproxy.org/download/3.2/doc/proxy-protocol.txt, versions 1 and 2).
type Protocol string

// Off reads no PROXY headers. Optional accepts a header from a trusted proxy.
// Required refuses each connection without a header from a trusted proxy.
const (
	Off      Protocol = "off"
	Optional Protocol = "optional"
	Required Protocol = "required"
)

// Validate returns an error with the valid values if p is not one of them.
func (p Protocol) Validate() error {
	switch p {
	case Off, Optional, Required:
		return nil
	}
	return fmt.Errorf("%q is none of off, optional, required", string(p))
}

// Config configures a Listener.
type Config struct {
	Trusted  *Trusted
	Protocol Protocol
	Most     int64         // maximum of open connections; 0: no limit
	MostEach int64         // maximum of open connections per limit.AddressKey, except those of trusted proxies; 0: no limit
	Within   time.Duration // for reading the PROXY header; 0: 5 s

	// OnRefusal is called with the rule of each refusal. For the first two rules
	// it returns true if the connection must be refused, and false in dry run.
	// Its result for the other rules is ignored. It must not block. nil: all
	// refusals are enforced.
	Refuse func(rule string) bool
}

// The rules that refuse a connection. The server closes it without an answer.
const (
	RuleFull     = "connections"             // MaxConnections are open
	RuleCrowded  = "connections_per_address" // MaxPerAddress connections from the same address are open
	RuleHeader   = "proxy_header"            // the header of a trusted proxy is invalid or too late
	RuleStranger = "proxy_stranger"          // headers are required, and the peer is not trusted
)

// Rules returns all rules.
func Rules() []string { return []string{RuleFull, RuleCrowded, RuleHeader, RuleStranger} }

// Listener limits its connections, and finds their client addresses behind
// proxies. It is safe for concurrent use. It starts no goroutines.
type Door struct {
	net.Listener
	Config

	mu   sync.Mutex
	open int64               // number of open connections
	each map[limit.Key]int64 // number of open connections by address; only values above 0
}

// New wraps a listener. TLS must be added around the Listener, because a PROXY
// header comes before the TLS handshake.
func New(l net.Listener, c Config) *Door {
	if c.Refuse == nil {
		c.Refuse = func(string) bool { return true }
	}
	if c.Within == 0 {
		c.Within = 5 * time.Second
	}
	return &Door{Listener: l, Config: c, each: make(map[limit.Key]int64)}
}

// Open returns the number of open connections.
func (d *Door) Open() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

// Accept returns the next connection that is not refused. The first Read, Write
// or RemoteAddr of the connection reads its PROXY header, so a slow header does
// not delay other connections. An invalid header closes the connection.
func (d *Door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if in := d.admit(c); in != nil {
			return in, nil
		}
		_ = c.Close() // without a response, which would cost more than it helps
	}
}

// admit registers a connection. It returns nil if a rule refuses it.
func (d *Door) admit(c net.Conn) net.Conn {
	peer := addressOf(c.RemoteAddr())
	proxy := d.Trusted.Has(peer)
	if d.Protocol == Required && !proxy {
		d.Refuse(RuleStranger)
		return nil
	}
	in := &conn{Conn: c, door: d}
	if !d.enter(in) {
		return nil
	}
	switch {
	case proxy && d.Protocol != Off:
		return &proxied{conn: in}
	case proxy: // a proxy has connections of many clients: no limit per address
	case !d.count(in, peer):
		d.leave(in)
		return nil
	}
	return in
}

// addOpen counts a connection. It returns false if too many are open.
func (d *Door) enter(c *conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Most > 0 && d.open >= d.Most && d.Refuse(RuleFull) {
		return false
	}
	d.open++
	c.inside = true
	return true
}

// addToAddress counts a connection for its client's address. It returns false if
// the address has too many.
func (d *Door) count(c *conn, a netip.Addr) bool {
	from := limit.Address(a)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.inside {
		return true // it was closed meanwhile
	}
	if d.MostEach > 0 && d.each[from] >= d.MostEach && d.Refuse(RuleCrowded) {
		return false
	}
	d.each[from]++
	c.counted, c.from = true, from
	return true
}

// remove stops counting a connection. Further calls do nothing.
func (d *Door) leave(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.inside {
		return
	}
	c.inside = false
	d.open--
	if !c.counted {
		return
	}
	if d.each[c.from]--; d.each[c.from] == 0 {
		delete(d.each, c.from)
	}
}

var (
	errRefused  = errors.New("proxies: the address has too many connections")
	errNoHeader = errors.New("proxies: a proxy's header of the PROXY protocol cannot be read")
)
