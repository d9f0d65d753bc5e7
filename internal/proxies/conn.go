package proxies

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/pires/go-proxyproto"

	"laststand/internal/limit"
)

// countedConn is a connection that a Listener counts until Close.
type conn struct {
	net.Conn
	door *Door

	// The listener's mu guards these fields.
	inside  bool      // counted in openCount
	counted bool      // counted in perAddress
	from    limit.Key // the key in perAddress
}

// Close stops counting the connection and closes it.
func (c *conn) Close() error {
	c.door.leave(c)
	return c.Conn.Close()
}

var errNoRaw = errors.New("proxies: the connection cannot be read raw")

// SyscallConn returns the raw connection, or an error if the wrapped connection
// has none.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errNoRaw
}

// proxiedConn is a connection from a trusted proxy. It may start with a PROXY
// header.
type proxied struct {
	*conn
	once  sync.Once
	early *bufio.Reader // has read the header, and perhaps bytes after it; nil when Read has returned these
	from  net.Addr      // client address of the header; nil: use the proxy's address
	err   error         // result of reading the header
}

// readHeaderOnce reads the header at its first call, and returns the same result at
// all calls. It waits at most Config.HeaderTimeout.
func (p *proxied) settle() error {
	p.once.Do(func() {
		if p.err = p.readHeader(); p.err != nil {
			_ = p.Conn.Close() // the owner still calls countedConn.Close, which stops counting it
		}
	})
	return p.err
}

// headerBufferSize is enough for a header of version 1, in bytes. Such a header
// must fit into the buffer.
const headerBuffer = 512

// readHeader reads the PROXY header and counts the connection for the client's
// address. It returns an error if the connection must be closed.
func (p *proxied) readHeader() error {
	_ = p.SetReadDeadline(time.Now().Add(p.door.Within)) // if this fails, reading fails too
	p.early = bufio.NewReaderSize(p.Conn, headerBuffer)
	h, err := proxyproto.Read(p.early)
	_ = p.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol) && (p.door.Protocol == Optional || p.early.Buffered() == 0):
		return nil // no header; also a connection that ended without data, as of some health checks
	case err != nil:
		p.door.Refuse(RuleHeader)
		return fmt.Errorf("%w: %w", errNoHeader, err)
	}
	from := addressOf(h.SourceAddr)
	if h.Command.IsLocal() || !from.IsValid() {
		return nil // the proxy's own health check, or a client without an IP address
	}
	p.from = h.SourceAddr
	if !p.door.Trusted.Has(from) && !p.door.count(p.conn, from) {
		return errRefused
	}
	return nil
}

// Read reads the PROXY header first. It then returns the bytes after the header.
func (p *proxied) Read(b []byte) (int, error) {
	if err := p.settle(); err != nil {
		return 0, err
	}
	if p.early == nil {
		return p.conn.Read(b)
	}
	if p.early.Buffered() > 0 {
		return p.early.Read(b)
	}
	p.early = nil
	return p.conn.Read(b)
}

// SyscallConn returns the raw connection. It returns an error while bytes that
// arrived together with the header are unread.
func (p *proxied) SyscallConn() (syscall.RawConn, error) {
	if p.early != nil && p.early.Buffered() > 0 {
		return nil, errNoRaw
	}
	return p.conn.SyscallConn()
}

// Write reads the PROXY header first.
func (p *proxied) Write(b []byte) (int, error) {
	if err := p.settle(); err != nil {
		return 0, err
	}
	return p.conn.Write(b)
}

// RemoteAddr reads the PROXY header first, and returns the client address in it.
// Without a header it returns the proxy's address.
func (p *proxied) RemoteAddr() net.Addr {
	if err := p.settle(); err != nil || p.from == nil {
		return p.conn.RemoteAddr()
	}
	return p.from
}
