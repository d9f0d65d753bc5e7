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

// Protocol says what becomes of headers of the PROXY protocol
// (haproxy.org/download/3.2/doc/proxy-protocol.txt, versions 1 and 2).
type Protocol string

// With Off none is read. With Optional a trusted proxy may begin a connection
// with one. With Required it has to, and nobody else gets a connection.
const (
	Off      Protocol = "off"
	Optional Protocol = "optional"
	Required Protocol = "required"
)

// Validate names what there is, where it is none of that.
func (p Protocol) Validate() error {
	switch p {
	case Off, Optional, Required:
		return nil
	}
	return fmt.Errorf("%q is none of off, optional, required", string(p))
}

// Config is what a door is made of.
type Config struct {
	Trusted  *Trusted
	Protocol Protocol
	Most     int64         // connections at once; 0: any number
	MostEach int64         // of one address, as limit.Address has it; those of trusted proxies have no such bound; 0: any number
	Within   time.Duration // for the PROXY header; 0: 5 s

	// Refuse is told of each refusal by its rule, and says whether one by the first
	// two stands: not where the rule is on trial. Nil: they do. It does not block.
	Refuse func(rule string) bool
}

// The rules by which a connection is refused, without a word: it is closed.
const (
	RuleFull     = "connections"             // Most are there
	RuleCrowded  = "connections_per_address" // MostEach are there of its address
	RuleHeader   = "proxy_header"            // a trusted proxy's header is none, or came too late
	RuleStranger = "proxy_stranger"          // headers are required, and who came is not trusted
)

// Rules are all of them.
func Rules() []string { return []string{RuleFull, RuleCrowded, RuleHeader, RuleStranger} }

// Door is a listener that counts its connections and knows whom they are from.
// It is safe for concurrent use. It starts no goroutines.
type Door struct {
	net.Listener
	Config

	mu   sync.Mutex
	open int64
	each map[limit.Key]int64 // by address; those above 0
}

// New puts a door before a listener. TLS goes over the door: a PROXY header
// comes before it.
func New(l net.Listener, c Config) *Door {
	if c.Refuse == nil {
		c.Refuse = func(string) bool { return true }
	}
	if c.Within == 0 {
		c.Within = 5 * time.Second
	}
	return &Door{Listener: l, Config: c, each: make(map[limit.Key]int64)}
}

// Open is how many connections there are.
func (d *Door) Open() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

// Accept gives the next connection that may come in. Where a PROXY header is
// read, that is by the first call of its Read, Write or RemoteAddr, so that no
// connection holds up the next one; what is wrong then closes it.
func (d *Door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if in := d.admit(c); in != nil {
			return in, nil
		}
		_ = c.Close() // a word would cost more than it is worth
	}
}

// admit gives a connection its place; nil where there is none for it.
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
	case proxy: // its own, or many people's
	case !d.count(in, peer):
		d.leave(in)
		return nil
	}
	return in
}

// enter takes a place for a connection; false where there is none.
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

// count counts it as one of an address; false where that has too many.
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

// leave gives its place back, once.
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
