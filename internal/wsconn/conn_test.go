package wsconn

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newParker returns a parker whose connections are never quiet, until the test ends.
func newParker(t *testing.T, change func(*Config)) *Parker {
	t.Helper()
	config := Config{
		MessageTimeout: time.Minute, WriteTimeout: time.Minute, CloseTimeout: 2 * time.Second, QuietAfter: time.Hour,
		Parked: prometheus.NewGauge(prometheus.GaugeOpts{Name: "parked"}), Wakeups: prometheus.NewCounter(prometheus.CounterOpts{Name: "wakeups"}),
	}
	if change != nil {
		change(&config)
	}
	parker := NewParker(config)
	t.Cleanup(parker.Close)
	return parker
}

// newTCPPair returns both ends of a TCP connection.
func newTCPPair(t *testing.T) (server, client *net.TCPConn) {
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
	server, err = listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return server, client
}

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

// A connection without unread bytes has no buffer. Messages that arrive in one piece set one
// timer, for the time when the client is quiet. In the middle of a message it has a buffer and a
// timer of its own.
func TestWaitingConnectionHasNoBufferAndOneTimer(t *testing.T) {
	t.Parallel()
	socket, client := newTCPPair(t)
	counter := &deadlineCounter{TCPConn: socket}
	conn := newParker(t, nil).NewConn(counter, func() {})
	defer conn.Close()
	receive := func(sent []byte, want string) {
		t.Helper()
		if _, err := client.Write(sent); err != nil {
			t.Fatal(err)
		}
		if err := conn.waitAndRead(); err != nil {
			t.Fatal(err)
		}
		if message, err := conn.nextMessage(); err != nil || string(message.Payload) != want {
			t.Fatalf("%q, %v", message.Payload, err)
		}
		if message, err := conn.nextMessage(); message.Kind != 0 || err != nil {
			t.Fatalf("another message %q, %v", message.Payload, err)
		}
		conn.frames.releaseIfEmpty()
		conn.limitWait()
	}
	check := func(moment string, wantBuffer bool, wantDeadlines int32) {
		t.Helper()
		if (conn.frames.buffer != nil) != wantBuffer || counter.deadlines.Load() != wantDeadlines {
			t.Errorf("%s: buffer %v, %d deadlines set", moment, conn.frames.buffer != nil, counter.deadlines.Load())
		}
	}
	text := maskedFrame(0x81, `{"type":1}`)
	for range 5 {
		receive(text, `{"type":1}`)
	}
	if err := conn.WriteBatch([][]byte{[]byte(`{"type":"pong"}`), PingFrame()}); err != nil {
		t.Fatal(err)
	}
	check("after messages and a reply", false, 1)
	hasBytes := true
	if err := conn.rawConn.Read(func(fd uintptr) bool { hasBytes = conn.readAvailable(fd); return true }); hasBytes || err != nil {
		t.Errorf("more bytes arrived, %v", err)
	}
	check("while it waits", false, 1)
	receive(text[:9], "")
	check("within a message", true, 2)
	receive(text[9:], `{"type":1}`)
	check("at the message's end", false, 4)
}

// A write that the client does not accept immediately has a deadline while it lasts. A
// client that accepts nothing ends it.
func TestSlowWriteHasDeadline(t *testing.T) {
	t.Parallel()
	socket, client := newTCPPair(t)
	counter := &deadlineCounter{TCPConn: socket}
	conn := newParker(t, nil).NewConn(counter, func() {})
	defer conn.Close()
	const size = 16 << 20
	received := make(chan int64, 1)
	go func() {
		n, _ := io.CopyN(io.Discard, client, size+10)
		received <- n
	}()
	if err := conn.WriteBatch([][]byte{bytes.Repeat([]byte("x"), size)}); err != nil {
		t.Fatal(err)
	}
	if n := <-received; n != size+10 || counter.deadlines.Load() != 2 {
		t.Errorf("%d bytes arrived, %d deadlines", n, counter.deadlines.Load())
	}
	conn.parker.WriteTimeout = 10 * time.Millisecond
	if err := conn.WriteBatch([][]byte{bytes.Repeat([]byte("x"), size)}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the client accepts nothing: %v", err)
	}
}

// readFrame reads a frame of a server.
func readFrame(t *testing.T, r io.Reader) (kind Kind, payload []byte) {
	t.Helper()
	readBytes := func(n uint64) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	head := readBytes(2)
	size := uint64(head[1])
	switch size {
	case 126:
		size = uint64(binary.BigEndian.Uint16(readBytes(2)))
	case 127:
		size = binary.BigEndian.Uint64(readBytes(8))
	}
	if head[0]&finalBit == 0 {
		t.Fatal("the frame is a fragment")
	}
	return Kind(head[0] &^ finalBit), readBytes(size)
}

// countingConn counts its writes and can hold back those of text frames.
type countingConn struct {
	net.Conn
	writes     atomic.Int32
	writeTexts chan struct{} // text frames wait until it is closed; nil for no wait
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	if c.writeTexts != nil && b[0] == finalBit|byte(Text) {
		<-c.writeTexts
	}
	return c.Conn.Write(b)
}

// Messages of any size arrive as they were sent. Messages of a batch go out in one write.
func TestBatchIsWrittenTogether(t *testing.T) {
	t.Parallel()
	client, serverEnd := net.Pipe()
	defer client.Close()
	counter := &countingConn{Conn: serverEnd}
	conn := newParker(t, nil).NewConn(counter, func() {})
	defer conn.Close()
	var batch [][]byte
	for _, size := range []int{1, 125, 126, 5000} {
		batch = append(batch, []byte("{"+strings.Repeat("x", size-1)))
	}
	written := make(chan error, 1)
	go func() { written <- conn.WriteBatch(append(batch, PingFrame())) }()
	reader := bufio.NewReader(client)
	for i, want := range append(batch, nil) {
		kind, got := readFrame(t, reader)
		if (kind == Ping) != (want == nil) || !bytes.Equal(got, want) {
			t.Errorf("frame %d: kind %d, %d bytes, want %d", i, kind, len(got), len(want))
		}
	}
	if err := <-written; err != nil || counter.writes.Load() != 1 {
		t.Errorf("%d writes, %v", counter.writes.Load(), err)
	}
	go func() { written <- conn.WriteBatch([][]byte{make([]byte, 1<<16), make([]byte, minFullWrite)}) }()
	for _, want := range []int{1 << 16, minFullWrite} {
		if _, got := readFrame(t, reader); len(got) != want {
			t.Errorf("%d bytes, want %d", len(got), want)
		}
	}
	if err := <-written; err != nil || counter.writes.Load() != 3 {
		t.Errorf("%d writes, %v", counter.writes.Load(), err)
	}
}

// Whichever side closes first, the close frame follows the text that is being written,
// and no frame follows the close frame.
func TestCloseFrameIsLast(t *testing.T) {
	t.Parallel()
	for name, closeSide := range map[string]func(*Conn, net.Conn){
		"the server closes": func(conn *Conn, _ net.Conn) { conn.SendClose(4410, "banned") },
		"the client closes": func(_ *Conn, client net.Conn) { _, _ = client.Write(maskedFrame(finalBit|byte(closeFrame), "")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, serverEnd := net.Pipe()
			counter := &countingConn{Conn: serverEnd, writeTexts: make(chan struct{})}
			conn := newParker(t, nil).NewConn(counter, func() {})
			text := [][]byte{[]byte(`{"type":"settled"}`)}
			reads := make(chan struct{})
			go func() { conn.Discard(); close(reads) }() // until the client closes
			go func() { _ = conn.WriteBatch(text) }()
			eventually(t, "the text is being written", func() bool { return counter.writes.Load() == 1 })
			go closeSide(conn, client)
			eventually(t, "the connection is closing", conn.isClosing)
			late := make(chan error, 1)
			go func() { late <- conn.WriteBatch(text) }()
			close(counter.writeTexts)
			for _, want := range []Kind{Text, closeFrame} {
				if kind, _ := readFrame(t, client); kind != want {
					t.Errorf("frame of kind %d, want %d", kind, want)
				}
			}
			if err := <-late; !errors.Is(err, net.ErrClosed) || counter.writes.Load() != 2 {
				t.Errorf("%d writes, %v", counter.writes.Load(), err)
			}
			_ = client.Close()
			<-reads
			conn.Close()
		})
	}
}

// A connection whose client gets quiet while the server closes it reads on until the client's
// close frame. If the server closed the connection with unread bytes, the system would reset
// it, and the client could lose the close frame.
func TestClosingConnectionReadsOnAfterItsClientWasQuiet(t *testing.T) {
	t.Parallel()
	socket, client := newTCPPair(t)
	conn := newParker(t, nil).NewConn(socket, func() {})
	defer conn.Close()
	conn.setReadDeadline(ofQuiet, -time.Hour)
	if err := conn.waitAndRead(); !conn.endQuietWait(err) {
		t.Errorf("%v instead of the deadline", err)
	}
	conn.setReadDeadline(ofQuiet, -time.Hour)
	conn.writeMu.Lock() // the close frame must wait
	go conn.SendClose(1012, "")
	eventually(t, "the connection is closing", conn.isClosing)
	if _, err := client.Write(maskedFrame(0x81, "late")); err != nil {
		t.Fatal(err)
	}
	if message, err := conn.ReadMessage(); err != nil || string(message.Payload) != "late" {
		t.Errorf("%q, %v before the close frame", message.Payload, err)
	}
	conn.writeMu.Unlock()
	if kind, _ := readFrame(t, client); kind != closeFrame {
		t.Errorf("frame of kind %d instead of a close frame", kind)
	}
	if _, err := client.Write(maskedFrame(0x88, "\x03\xf4")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ReadMessage(); !errors.Is(err, io.EOF) {
		t.Errorf("%v instead of the end", err)
	}
}

func eventually(t *testing.T, description string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("this never happened: %s", description)
		}
	}
}
