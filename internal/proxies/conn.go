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

// conn is a counted connection. Close removes it from the count.
type conn struct {
	net.Conn
	door *Door

	// Guarded by the door's mu.
	inside, counted bool
	from            limit.Key // counted by
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.door.leave(c)
	return c.Conn.Close()
}

var errNoRaw = errors.New("proxies: the connection cannot be read raw")

// SyscallConn implements syscall.Conn if the wrapped connection does.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errNoRaw
}

// proxied is a connection of a trusted proxy. It may begin with a PROXY header.
type proxied struct {
	*conn
	once  sync.Once
	early *bufio.Reader // bytes that came with the header; owned by the reader, then nil
	from  net.Addr      // nil: the proxy's own
	err   error         // no header that could be believed
}

// settle reads the header once. It waits at most Config.Within.
func (p *proxied) settle() error {
	p.once.Do(func() {
		if p.err = p.readHeader(); p.err != nil {
			_ = p.Conn.Close() // the owner still calls Close, which ends the count
		}
	})
	return p.err
}

// headerBuffer has room for a header of version 1, which must arrive in one
// piece.
const headerBuffer = 512

func (p *proxied) readHeader() error {
	_ = p.SetReadDeadline(time.Now().Add(p.door.Within)) // if this fails, reading fails too
	p.early = bufio.NewReaderSize(p.Conn, headerBuffer)
	h, err := proxyproto.Read(p.early)
	_ = p.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol) && (p.door.Protocol == Optional || p.early.Buffered() == 0):
		return nil // this includes a connection that ended without data, as some health checks do
	case err != nil:
		p.door.Refuse(RuleHeader)
		return fmt.Errorf("%w: %w", errNoHeader, err)
	}
	from := addressOf(h.SourceAddr)
	if h.Command.IsLocal() || !from.IsValid() {
		return nil // a health check of the proxy's own, or of a kind that has no address
	}
	p.from = h.SourceAddr
	if !p.door.Trusted.Has(from) && !p.door.count(p.conn, from) {
		return errRefused
	}
	return nil
}

// Read implements net.Conn.
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

// SyscallConn implements syscall.Conn: not before what came with the header has
// been read.
func (p *proxied) SyscallConn() (syscall.RawConn, error) {
	if p.early != nil && p.early.Buffered() > 0 {
		return nil, errNoRaw
	}
	return p.conn.SyscallConn()
}

// Write implements net.Conn.
func (p *proxied) Write(b []byte) (int, error) {
	if err := p.settle(); err != nil {
		return 0, err
	}
	return p.conn.Write(b)
}

// RemoteAddr implements net.Conn. It returns the client address of the header.
func (p *proxied) RemoteAddr() net.Addr {
	if err := p.settle(); err != nil || p.from == nil {
		return p.conn.RemoteAddr()
	}
	return p.from
}
