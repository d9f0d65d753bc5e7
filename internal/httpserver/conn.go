package httpserver

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/pires/go-proxyproto"
)

// countedConn is a connection that a Listener counts until Close.
type countedConn struct {
	net.Conn
	listener *Listener

	// The listener's mu guards these fields.
	isClosed bool
	keys     []netip.Addr // counted under these
}

// Close stops counting the connection and closes it.
func (c *countedConn) Close() error {
	c.listener.remove(c)
	return c.Conn.Close()
}

var errNoRawConn = errors.New("httpserver: the connection cannot be read raw")

// SyscallConn returns the raw connection, or an error if the wrapped connection
// has none.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errNoRawConn
}

// proxiedConn is a connection from a trusted proxy. It may start with a PROXY
// header.
type proxiedConn struct {
	*countedConn
	once         sync.Once
	headerReader *bufio.Reader // has read the header, and perhaps bytes after it; nil when Read has returned these
	clientAddr   net.Addr      // client address of the header; nil: use the proxy's address
	headerErr    error         // result of reading the header
}

// readHeaderOnce reads the header at its first call, and returns the same result at
// all calls. It waits at most ListenerConfig.HeaderTimeout.
func (p *proxiedConn) readHeaderOnce() error {
	p.once.Do(func() {
		if p.headerErr = p.readHeader(); p.headerErr != nil {
			_ = p.Conn.Close() // the owner still calls countedConn.Close, which stops counting it
		}
	})
	return p.headerErr
}

// headerBufferSize is enough for a header of version 1, in bytes. Such a header
// must fit into the buffer.
const headerBufferSize = 512

// readHeader reads the PROXY header and counts the connection for the client's
// address. It returns an error if the connection must be closed.
func (p *proxiedConn) readHeader() error {
	_ = p.SetReadDeadline(time.Now().Add(p.listener.HeaderTimeout)) // if this fails, reading fails too
	p.headerReader = bufio.NewReaderSize(p.Conn, headerBufferSize)
	header, err := proxyproto.Read(p.headerReader)
	_ = p.SetReadDeadline(time.Time{})
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol) && (p.listener.Protocol == ProxyOptional || p.headerReader.Buffered() == 0):
		return nil // no header; also a connection that ended without data, as of some health checks
	case err != nil:
		p.listener.OnRefusal(RuleHeader)
		return fmt.Errorf("%w: %w", errBadHeader, err)
	}
	client := tcpAddress(header.SourceAddr)
	if header.Command.IsLocal() || !client.IsValid() {
		return nil // the proxy's own health check, or a client without an IP address
	}
	p.clientAddr = header.SourceAddr
	if !p.listener.Trusted.Has(client) && !p.listener.countClient(p.countedConn, client) {
		return errTooManyFromAddress
	}
	return nil
}

// Read reads the PROXY header first. It then returns the bytes after the header.
func (p *proxiedConn) Read(buffer []byte) (int, error) {
	if err := p.readHeaderOnce(); err != nil {
		return 0, err
	}
	if p.headerReader == nil {
		return p.countedConn.Read(buffer)
	}
	if p.headerReader.Buffered() > 0 {
		return p.headerReader.Read(buffer)
	}
	p.headerReader = nil
	return p.countedConn.Read(buffer)
}

// SyscallConn returns the raw connection. It returns an error while bytes that
// arrived together with the header are unread.
func (p *proxiedConn) SyscallConn() (syscall.RawConn, error) {
	if p.headerReader != nil && p.headerReader.Buffered() > 0 {
		return nil, errNoRawConn
	}
	return p.countedConn.SyscallConn()
}

// Write reads the PROXY header first.
func (p *proxiedConn) Write(data []byte) (int, error) {
	if err := p.readHeaderOnce(); err != nil {
		return 0, err
	}
	return p.countedConn.Write(data)
}

// RemoteAddr reads the PROXY header first, and returns the client address in it.
// Without a header it returns the proxy's address.
func (p *proxiedConn) RemoteAddr() net.Addr {
	if err := p.readHeaderOnce(); err != nil || p.clientAddr == nil {
		return p.countedConn.RemoteAddr()
	}
	return p.clientAddr
}
