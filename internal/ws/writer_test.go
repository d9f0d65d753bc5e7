package ws

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
)

// countingConn counts its writes and can hold back those of text frames.
type countingConn struct {
	net.Conn
	writes     atomic.Int32
	writeTexts chan struct{} // text frames wait until it is closed; nil for no wait
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	if c.writeTexts != nil && b[0] == finalBit|websocket.TextMessage {
		<-c.writeTexts
	}
	return c.Conn.Write(b)
}

// hijackable is a response whose connection can be hijacked.
type hijackable struct {
	http.ResponseWriter
	conn net.Conn
}

func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

// upgradeRequest is a request for a websocket.
func upgradeRequest() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for name, value := range map[string]string{
		"Connection": "upgrade", "Upgrade": "websocket", "Sec-Websocket-Version": "13", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	} {
		r.Header.Set(name, value)
	}
	return r
}

// newPipeSession returns a session over a pipe, its connection, and the client's end.
func newPipeSession(t *testing.T) (se *session, conn *countingConn, client net.Conn) {
	t.Helper()
	client, serverEnd := net.Pipe()
	conn = &countingConn{Conn: serverEnd}
	go func() { // until the reply to the request is there
		if response, err := http.ReadResponse(bufio.NewReaderSize(client, 16), nil); err == nil {
			_ = response.Body.Close()
		}
	}()
	server := &Server{writeTimeout: time.Minute, metrics: newMetrics(prometheus.NewRegistry())}
	socket, err := server.upgrader.Upgrade(hijackable{httptest.NewRecorder(), conn}, upgradeRequest(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	conn.writes.Store(0)
	return newSession(server, newClientConn(socket.NetConn(), time.Minute), netip.Addr{}), conn, client
}

// Frames of any size arrive as they were queued. Frames that are queued together go out
// in one write.
func TestQueuedFramesAreWrittenTogether(t *testing.T) {
	t.Parallel()
	se, conn, client := newPipeSession(t)
	var batch [][]byte
	for _, size := range []int{1, 125, 126, 5000} {
		batch = append(batch, []byte("{"+strings.Repeat("x", size-1)))
	}
	batch = append(batch, pingFrame)
	written := make(chan error, 1)
	go func() { written <- se.writeBatch(batch) }()
	reader := bufio.NewReader(client)
	for i, want := range batch {
		kind, got := readFrame(t, reader)
		if bytes.Equal(want, pingFrame) {
			want = nil
		}
		if (kind == websocket.PingMessage) != (want == nil) || !bytes.Equal(got, want) {
			t.Errorf("frame %d: kind %d, %d bytes, want %d", i, kind, len(got), len(want))
		}
	}
	if err := <-written; err != nil || conn.writes.Load() != 1 {
		t.Errorf("%d writes, %v", conn.writes.Load(), err)
	}
	go func() { written <- se.writeBatch([][]byte{make([]byte, 1<<16), make([]byte, minFullWrite)}) }()
	for _, want := range []int{1 << 16, minFullWrite} {
		if _, got := readFrame(t, reader); len(got) != want {
			t.Errorf("%d bytes, want %d", len(got), want)
		}
	}
	if err := <-written; err != nil || conn.writes.Load() != 3 {
		t.Errorf("%d writes, %v", conn.writes.Load(), err)
	}
}

// readFrame reads a frame of a server.
func readFrame(t *testing.T, r io.Reader) (kind byte, payload []byte) {
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
	return head[0] &^ finalBit, readBytes(size)
}

// Whichever side closes first, the close frame follows the text that is being written,
// and no frame follows the close frame.
func TestCloseFrameIsLast(t *testing.T) {
	t.Parallel()
	for name, closeSide := range map[string]func(*session, net.Conn){
		"the server closes": func(se *session, _ net.Conn) { se.close(protocol.CloseBanned, "banned") },
		"the client closes": func(_ *session, client net.Conn) {
			_, _ = client.Write([]byte{finalBit | websocket.CloseMessage, 0x80, 0, 0, 0, 0}) // masked with a zero key
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				se, conn, client := newPipeSession(t)
				go func() { // until the client closes
					for err := error(nil); err == nil; {
						if err = se.conn.readMore(); err == nil {
							_, err = se.handleMessages()
						}
					}
				}()
				conn.writeTexts = make(chan struct{})
				se.Push("", []byte(`{"type":"settled"}`))
				synctest.Wait()
				closeSide(se, client)
				synctest.Wait()
				se.Push("", []byte(`{"type":"settled"}`))
				close(conn.writeTexts)
				for _, want := range []byte{websocket.TextMessage, websocket.CloseMessage} {
					if kind, _ := readFrame(t, client); kind != want {
						t.Errorf("frame of kind %d, want %d", kind, want)
					}
				}
				synctest.Wait()
				if !se.outbox.isClosed() || conn.writes.Load() != 2 {
					t.Errorf("%d writes", conn.writes.Load())
				}
			})
		})
	}
}
