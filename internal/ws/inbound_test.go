package ws

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"pgregory.net/rapid"

	"laststand/internal/protocol"
)

// heard is a message or control frame, or how hearing ended.
type heard struct {
	kind int
	text string
	end  error
}

// hearAll has an inbound take a stream in pieces, up to its end or its first fault.
func hearAll(stream []byte, piece func() int) (all []heard) {
	var in inbound
	for len(stream) > 0 {
		n := copy(in.room(), stream[:min(max(piece(), 1), len(stream))])
		stream = stream[n:]
		in.grew(n)
		for {
			kind, payload, err := in.next()
			if err != nil {
				return append(all, heard{end: err})
			}
			if kind == 0 {
				break
			}
			if kind == websocket.CloseMessage { // nothing follows it
				return append(all, heard{kind: int(kind)})
			}
			all = append(all, heard{kind: int(kind), text: string(payload)})
		}
		in.tidy()
	}
	if !in.amid() != (in.buffer == nil && in.kind == 0) {
		all = append(all, heard{end: errors.New("amid nothing")})
	}
	return all
}

// stream is a connection that is only read from.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(b []byte) (int, error)       { return s.Reader.Read(b) }
func (s stream) Write(b []byte) (int, error)      { return len(b), nil }
func (s stream) SetWriteDeadline(time.Time) error { return nil }

func (stream) SetDeadline(time.Time) error { return nil }
func (stream) Close() error                { return nil }

// library is the library's end of a stream.
func library(t *testing.T, sent []byte) *websocket.Conn {
	t.Helper()
	var u websocket.Upgrader
	conn, err := u.Upgrade(taken{httptest.NewRecorder(), stream{Reader: bytes.NewReader(sent)}}, asking(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// theirs is what the library makes of a stream.
func theirs(t *testing.T, sent []byte) (all []heard) {
	t.Helper()
	conn := library(t, sent)
	note := func(kind int) func(string) error {
		return func(text string) error {
			all = append(all, heard{kind: kind, text: text})
			return nil
		}
	}
	conn.SetPingHandler(note(websocket.PingMessage))
	conn.SetPongHandler(note(websocket.PongMessage))
	for {
		kind, text, err := conn.ReadMessage()
		closed, isClose := errors.AsType[*websocket.CloseError](err)
		switch {
		case isClose && closed.Code == websocket.CloseAbnormalClosure: // the stream's end
			return all
		case isClose:
			return append(all, heard{kind: websocket.CloseMessage})
		case err != nil:
			return append(all, heard{end: err})
		case len(text) > protocol.MaxFrame:
			return append(all, heard{end: errTooLarge})
		}
		all = append(all, heard{kind: kind, text: string(text)})
	}
}

// sent is a frame as a client sends it.
func sent(first byte, payload string, key uint32) []byte {
	b := []byte{first, 0x80 | 126, byte(len(payload) >> 8), byte(len(payload))}
	if len(payload) < 126 {
		b = []byte{first, 0x80 | byte(len(payload))}
	}
	b = binary.LittleEndian.AppendUint32(b, key)
	for i := range len(payload) {
		b = append(b, payload[i]^byte(key>>(i%4*8)))
	}
	return b
}

// masked is sent with some key.
func masked(first byte, payload string) []byte { return sent(first, payload, 0x04030201) }

// However a client's messages are cut into frames, and these into pieces, they come
// whole, after the control frames in their midst.
func TestMessagesComeWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var all []byte
		var want []heard
		for range rapid.IntRange(1, 5).Draw(r, "messages") {
			text := strings.Repeat(rapid.StringN(1, 9, 9).Draw(r, "text"), rapid.IntRange(0, protocol.MaxFrame/9).Draw(r, "times"))
			key := rapid.Uint32().Draw(r, "key")
			first := byte(websocket.TextMessage)
			for left := text; ; first = 0 {
				part := left[:rapid.IntRange(0, len(left)).Draw(r, "part")]
				if rapid.Bool().Draw(r, "last") {
					all = append(all, sent(finalBit|first, left, key)...)
					break
				}
				left = left[len(part):]
				all = append(append(all, sent(first, part, key)...), sent(finalBit|websocket.PongMessage, "c", key)...)
				want = append(want, heard{kind: websocket.PongMessage, text: "c"})
			}
			want = append(want, heard{kind: websocket.TextMessage, text: text})
		}
		got := hearAll(all, func() int { return rapid.IntRange(1, 3000).Draw(r, "piece") })
		if !slices.Equal(got, want) {
			r.Fatalf("%d came, want %d", len(got), len(want))
		}
	})
}

// FuzzInbound holds what is made of a stream against what the library does.
func FuzzInbound(f *testing.F) {
	for _, seed := range [][]byte{
		masked(0x81, "text"), masked(0x82, "binary"), append(masked(0x01, "in "), masked(0x80, "parts")...), masked(0x89, "ping"),
		append(append(masked(0x01, "in "), masked(0x8a, "pong")...), masked(0x80, "parts")...), {0x81, 0xfe, 0, 1, 0, 0, 0, 0, 'x'},
		{0x81, 0xff, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0}, {0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0x10, 1, 0, 0, 0, 0}, masked(0x80, ""), masked(0xc1, ""),
		masked(0x09, ""), masked(0x83, ""), {0x81, 0}, {0x89, 0xfe, 0, 126, 0, 0, 0, 0},
	} {
		f.Add(seed, 1)
		f.Add(seed, 4096)
	}
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		got, want := hearAll(sent, func() int { return piece }), theirs(t, sent)
		for i := range max(len(got), len(want)) {
			if i < min(len(got), len(want)) && got[i].kind == websocket.CloseMessage && want[i].end != nil {
				return // the library reads its code here, we do after
			}
			if i >= len(got) || i >= len(want) || got[i].end != nil || want[i].end != nil {
				ended := i < len(got) && got[i].end != nil
				refused := i < len(want) && want[i].end != nil
				if ended != refused && (!ended || !errors.Is(got[i].end, errTooLarge)) { // the library waits for it to come
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

// A closing frame says nothing, or a code that one may say and why.
func TestClosing(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]int{
		"": websocket.CloseNoStatusReceived, "\x03\xe8": 1000, "\x03\xe9away": 1001, "\x03\xf4": 1012, "\x0b\xb8": 3000, "\x13\x87why": 4999,
		"\x03": 0, "\x03\xe8\xff": 0, "\x00\x00": 0, "\x03\xe7": 0, "\x03\xec": 0, "\x03\xed": 0, "\x03\xee": 0, "\x03\xf7": 0, "\x07\xd0": 0, "\x13\x88": 0,
	} {
		if code, err := closing([]byte(payload)); code != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v, want %d", payload, code, err, want)
		}
	}
}
