package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// deadlineCounter is a connection that counts its deadlines, which are timers of the
// runtime.
type deadlineCounter struct {
	*net.TCPConn
	deadlines atomic.Int32
}

func (c *deadlineCounter) SetDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.TCPConn.SetDeadline(t)
}
func (c *deadlineCounter) SetReadDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.TCPConn.SetReadDeadline(t)
}
func (c *deadlineCounter) SetWriteDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.TCPConn.SetWriteDeadline(t)
}

// newTCPSession returns a session over TCP whose read loop does not run, its connection,
// and the client's.
func newTCPSession(t *testing.T) (se *session, serverConn *deadlineCounter, client *net.TCPConn) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err = net.DialTCP("tcp", nil, listener.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), conn.Close() })
	serverConn = &deadlineCounter{TCPConn: conn}
	server := &Server{writeTimeout: time.Minute, metrics: newMetrics(prometheus.NewRegistry())}
	return newSession(server, newClientConn(serverConn, time.Minute), netip.Addr{}), serverConn, client
}

// maskedPing is a text frame as a client sends it.
var maskedPing = append([]byte{finalBit | 1, 0x80 | 10, 0, 0, 0, 0}, `{"type":1}`...)

// A connection without unread bytes has no buffer and sets no timer. In the middle of
// a message it has both.
func TestIdleConnectionHasNoBufferAndNoTimer(t *testing.T) {
	t.Parallel()
	se, serverConn, client := newTCPSession(t)
	conn := se.conn
	receive := func(sent []byte, want string) {
		t.Helper()
		if _, err := client.Write(sent); err != nil {
			t.Fatal(err)
		}
		if err := conn.readMore(); err != nil {
			t.Fatal(err)
		}
		if _, payload, err := conn.nextMessage(); err != nil || string(payload) != want {
			t.Fatalf("%q, %v", payload, err)
		}
		if _, payload, err := conn.nextMessage(); payload != nil || err != nil {
			t.Fatalf("another message %q, %v", payload, err)
		}
		conn.prepareWait()
	}
	checkBufferAndDeadlines := func(moment string, wantBuffer bool, wantDeadlines int32) {
		t.Helper()
		if (conn.reader.buffer != nil) != wantBuffer || serverConn.deadlines.Load() != wantDeadlines {
			t.Errorf("%s: buffer %v, %d deadlines set", moment, conn.reader.buffer != nil, serverConn.deadlines.Load())
		}
	}
	hasNoUnreadBytes := func() (isEmpty bool) {
		err := conn.rawConn.Read(func(fd uintptr) bool { isEmpty = !conn.readAvailable(fd); return true })
		return isEmpty && err == nil
	}
	receive(maskedPing, `{"type":1}`)
	if err := se.writeBatch([][]byte{[]byte(`{"type":"pong"}`), pingFrame}); err != nil {
		t.Fatal(err)
	}
	checkBufferAndDeadlines("after a message and a reply", false, 0)
	if !hasNoUnreadBytes() {
		t.Error("more bytes arrived")
	}
	checkBufferAndDeadlines("while it waits", false, 0)
	receive(maskedPing[:9], "")
	checkBufferAndDeadlines("within a message", true, 1)
	receive(maskedPing[9:], `{"type":1}`)
	checkBufferAndDeadlines("at the message's end", false, 2)
}

// A write that the client does not accept immediately has a deadline while it lasts.
func TestSlowWriteHasDeadline(t *testing.T) {
	t.Parallel()
	se, serverConn, client := newTCPSession(t)
	frames, received := bytes.Repeat([]byte("x"), 16<<20), make(chan int, 1)
	go func() {
		total := 0
		for b := make([]byte, 1<<20); total < len(frames); {
			n, err := client.Read(b)
			if total += n; err != nil {
				break
			}
		}
		received <- total
	}()
	if err := se.writeFrames(frames); err != nil {
		t.Fatal(err)
	}
	if n := <-received; n != len(frames) || serverConn.deadlines.Load() != 2 {
		t.Errorf("%d bytes arrived, %d deadlines", n, serverConn.deadlines.Load())
	}
}

// A greeted session has one goroutine, which reads, until it is parked.
func TestUnparkedSessionHasOneGoroutine(t *testing.T) {
	t.Parallel()
	const sessions = 20
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("test", t.Name()))) // every goroutine started from here has this label
	defer pprof.SetGoroutineLabels(context.Background())
	n := startNode(t)
	n.parker.quietAfter = clientTimeout // no session is parked in this test
	for i := range sessions {
		n.connectPlayer(fmt.Sprint("player", i)).expectPong()
	}
	n.eventually("one goroutine per session", func() bool {
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		count := 0
		for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
			if strings.Contains(stack, t.Name()) && strings.Contains(stack, "ws.(*session)") {
				var n int
				_, _ = fmt.Sscan(stack, &n)
				count += n
				if !strings.Contains(stack, "(*clientConn).readMore") {
					return false
				}
			}
		}
		return count == sessions
	})
}

// A frame that is too large is dropped in steps of a buffer's size, also where waiting
// reads a single byte, as with TLS.
func TestTooLargeFrameIsDroppedInChunks(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	frame := append([]byte{finalBit | 1, 0x80 | 127}, binary.BigEndian.AppendUint64(nil, size)...)
	reads, unread := 0, bytes.NewReader(append(frame, make([]byte, 4+size)...))
	conn := newClientConn(readOnlyConn{Reader: readerFunc(func(b []byte) (int, error) { reads++; return unread.Read(b) })}, time.Minute)
	for conn.readMore() == nil {
		if kind, _, err := conn.nextMessage(); kind != 0 || err != nil && !errors.Is(err, errTooLarge) {
			t.Fatalf("kind %d, %v", kind, err)
		}
	}
	if unread.Len() > 0 || reads > size/1000 {
		t.Errorf("%d reads, %d bytes left", reads, unread.Len())
	}
	if conn.reader.buffer != nil {
		t.Error("the connection keeps a buffer")
	}
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
