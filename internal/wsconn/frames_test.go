package wsconn

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"pgregory.net/rapid"

	"laststand/internal/protocol"
)

// received is a message, a control frame, or the error that ended reading.
type received struct {
	kind Kind
	text string
	err  error
}

// readAll passes a stream to a frameReader in pieces, up to its end or first error.
// The function returns the size of the next piece.
func readAll(stream []byte, pieceSize func() int) (messages []received) {
	var reader frameReader
	for len(stream) > 0 {
		n := copy(reader.freeSpace(), stream[:min(max(pieceSize(), 1), len(stream))])
		stream = stream[n:]
		reader.recordRead(n)
		for {
			message, err := reader.nextMessage()
			if err != nil {
				return append(messages, received{err: err})
			}
			if message.Kind == 0 {
				break
			}
			if message.Kind == closeFrame { // no frame follows a close frame
				return append(messages, received{kind: closeFrame})
			}
			messages = append(messages, received{kind: message.Kind, text: string(message.Payload)})
		}
		reader.releaseIfEmpty()
	}
	if !reader.isMidMessage() != (reader.buffer == nil && reader.messageKind == 0) {
		messages = append(messages, received{err: errors.New("isMidMessage disagrees with the buffer")})
	}
	return messages
}

// readOnlyConn is a connection whose writes are dropped.
type readOnlyConn struct {
	net.Conn
	io.Reader
}

func (s readOnlyConn) Read(b []byte) (int, error)       { return s.Reader.Read(b) }
func (s readOnlyConn) Write(b []byte) (int, error)      { return len(b), nil }
func (s readOnlyConn) SetWriteDeadline(time.Time) error { return nil }
func (s readOnlyConn) SetReadDeadline(time.Time) error  { return nil }

func (readOnlyConn) SetDeadline(time.Time) error { return nil }
func (readOnlyConn) Close() error                { return nil }

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

// newLibraryConn opens the stream with the websocket library.
func newLibraryConn(t *testing.T, stream []byte) *websocket.Conn {
	t.Helper()
	var upgrader websocket.Upgrader
	conn, err := upgrader.Upgrade(hijackable{httptest.NewRecorder(), readOnlyConn{Reader: bytes.NewReader(stream)}}, upgradeRequest(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// readWithLibrary returns what the websocket library reads from a stream.
func readWithLibrary(t *testing.T, stream []byte) (messages []received) {
	t.Helper()
	conn := newLibraryConn(t, stream)
	recordControl := func(kind Kind) func(string) error {
		return func(text string) error {
			messages = append(messages, received{kind: kind, text: text})
			return nil
		}
	}
	conn.SetPingHandler(recordControl(Ping))
	conn.SetPongHandler(recordControl(Pong))
	for {
		kind, text, err := conn.ReadMessage()
		closeErr, isClose := errors.AsType[*websocket.CloseError](err)
		switch {
		case isClose && closeErr.Code == websocket.CloseAbnormalClosure: // the stream's end
			return messages
		case isClose:
			return append(messages, received{kind: closeFrame})
		case err != nil:
			return append(messages, received{err: err})
		case len(text) > protocol.MaxFrame:
			return append(messages, received{err: ErrTooLarge})
		}
		messages = append(messages, received{kind: Kind(kind), text: string(text)})
	}
}

// clientFrame encodes a frame as a client sends it.
func clientFrame(firstByte byte, payload string, key uint32) []byte {
	frame := []byte{firstByte, 0x80 | 126, byte(len(payload) >> 8), byte(len(payload))}
	if len(payload) < 126 {
		frame = []byte{firstByte, 0x80 | byte(len(payload))}
	}
	frame = binary.LittleEndian.AppendUint32(frame, key)
	for i := range len(payload) {
		frame = append(frame, payload[i]^byte(key>>(i%4*8)))
	}
	return frame
}

// maskedFrame is clientFrame with a fixed key.
func maskedFrame(firstByte byte, payload string) []byte {
	return clientFrame(firstByte, payload, 0x04030201)
}

// However a client splits messages into frames, and frames into pieces, the messages
// arrive whole, after the control frames between their parts.
func TestFragmentedMessagesAreAssembled(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var stream []byte
		var want []received
		for range rapid.IntRange(1, 5).Draw(rt, "messages") {
			text := strings.Repeat(rapid.StringN(1, 9, 9).Draw(rt, "text"), rapid.IntRange(0, protocol.MaxFrame/9).Draw(rt, "times"))
			key := rapid.Uint32().Draw(rt, "key")
			first := byte(Text)
			for left := text; ; first = 0 {
				part := left[:rapid.IntRange(0, len(left)).Draw(rt, "part")]
				if rapid.Bool().Draw(rt, "last") {
					stream = append(stream, clientFrame(finalBit|first, left, key)...)
					break
				}
				left = left[len(part):]
				stream = append(append(stream, clientFrame(first, part, key)...), clientFrame(finalBit|byte(Pong), "c", key)...)
				want = append(want, received{kind: Pong, text: "c"})
			}
			want = append(want, received{kind: Text, text: text})
		}
		got := readAll(stream, func() int { return rapid.IntRange(1, 3000).Draw(rt, "piece") })
		if !slices.Equal(got, want) {
			rt.Fatalf("%d messages, want %d", len(got), len(want))
		}
	})
}

// FuzzFrameReader compares the messages that frameReader and the library read from the same
// stream.
func FuzzFrameReader(f *testing.F) {
	for _, seed := range [][]byte{
		maskedFrame(0x81, "text"), maskedFrame(0x82, "binary"), append(maskedFrame(0x01, "in "), maskedFrame(0x80, "parts")...), maskedFrame(0x89, "ping"),
		append(append(maskedFrame(0x01, "in "), maskedFrame(0x8a, "pong")...), maskedFrame(0x80, "parts")...), {0x81, 0xfe, 0, 1, 0, 0, 0, 0, 'x'},
		{0x81, 0xff, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0}, {0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0}, maskedFrame(0x80, ""), maskedFrame(0xc1, ""),
		maskedFrame(0x09, ""), maskedFrame(0x83, ""), {0x81, 0}, {0x89, 0xfe, 0, 126, 0, 0, 0, 0},
	} {
		f.Add(seed, 1)
		f.Add(seed, 4096)
	}
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		got, want := readAll(sent, func() int { return piece }), readWithLibrary(t, sent)
		for i := range max(len(got), len(want)) {
			if i < min(len(got), len(want)) && got[i].kind == closeFrame && want[i].err != nil {
				return // the library checks the code here, frameReader's caller does it later
			}
			if i >= len(got) || i >= len(want) || got[i].err != nil || want[i].err != nil {
				ended := i < len(got) && got[i].err != nil
				refused := i < len(want) && want[i].err != nil
				if ended != refused && (!ended || !errors.Is(got[i].err, ErrTooLarge)) { // the library waits for the whole frame
					t.Fatalf("%d of %x: %+v, want %+v", i, sent, got[min(i, len(got)):], want[min(i, len(want)):])
				}
				return
			}
			if got[i] != want[i] {
				t.Fatalf("%d of %x: %+v, want %+v", i, sent, got[i], want[i])
			}
		}
	})
}

// A close frame is empty, or has a code that clients may send and a reason.
func TestCloseFramesOfClientsAreChecked(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]int{
		"": noStatus, "\x03\xe8": 1000, "\x03\xe9away": 1001, "\x03\xf4": 1012, "\x0b\xb8": 3000, "\x13\x87why": 4999,
		"\x03": 0, "\x03\xe8\xff": 0, "\x00\x00": 0, "\x03\xe7": 0, "\x03\xec": 0, "\x03\xed": 0, "\x03\xee": 0, "\x03\xf7": 0, "\x07\xd0": 0, "\x13\x88": 0,
	} {
		if code, err := parseCloseCode([]byte(payload)); code != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v, want %d", payload, code, err, want)
		}
	}
}
