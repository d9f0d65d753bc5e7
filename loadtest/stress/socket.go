package stress

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// These are opcodes of RFC 6455, section 5.2, and the bits beside them.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xa
	bitFinal       = 0x80
	bitCompressed  = 0x40
	bitMasked      = 0x80
)

// socket is a websocket that also sends invalid frames. One goroutine may use it, and
// one more may send.
type socket struct{ *websocket.Conn }

// Write sends bytes unchanged.
func (s *socket) Write(raw []byte) (int, error) { return s.NetConn().Write(raw) }

// SetWriteDeadline bounds Write.
func (s *socket) SetWriteDeadline(until time.Time) error { return s.NetConn().SetWriteDeadline(until) }

// dial opens a TCP connection from the worker's address.
func (a *attacker) dial(ctx context.Context, worker int) (net.Conn, error) {
	conn, err := dialer(a.Addresses[worker%len(a.Addresses)]).DialContext(ctx, "tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		a.lost(ctx, "no connection")
		return nil, err
	}
	return conn, nil
}

// errUpgrade says that the server refused the websocket; the attacker has noted the
// reason.
var errUpgrade = errors.New("stress: no websocket")

// open opens a websocket. The origin is that of a page; "": none.
func (a *attacker) open(ctx context.Context, worker int, origin string) (*socket, error) {
	d := websocket.Dialer{
		NetDialContext: dialer(a.Addresses[worker%len(a.Addresses)]).DialContext, HandshakeTimeout: callTimeout,
		Subprotocols: []string{protocol.Subprotocol}, EnableCompression: true, // the server must refuse the latter
	}
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	conn, response, err := d.DialContext(ctx, "ws"+strings.TrimPrefix(a.URL, "http")+"/v1/ws", header)
	if response == nil {
		a.lost(ctx, "cut")
		return nil, err
	}
	_ = response.Body.Close() // its content does not matter
	if err == nil {
		return &socket{conn}, nil
	}
	a.refused("upgrade " + strconv.Itoa(response.StatusCode))
	if response.StatusCode >= 500 && response.StatusCode != http.StatusServiceUnavailable {
		a.violation("an upgrade was answered with %d", response.StatusCode)
	}
	return nil, errUpgrade
}

// greet opens a websocket and says hello as a player of a game.
func (a *attacker) greet(ctx context.Context, worker int, token string) (*socket, error) {
	s, err := a.open(ctx, worker, "")
	if err != nil {
		return nil, err
	}
	hello, _ := json.Marshal(protocol.Hello{Token: token}) // texts always encode
	_ = s.sendText(`{"id":1,"type":"hello","data":` + string(hello) + `}`)
	f, err := s.next(callTimeout)
	if err == nil && f.Type == protocol.TypeWelcome {
		return s, nil
	}
	a.noteFrame(ctx, f, err)
	_ = s.Close()
	return nil, errUpgrade
}

// encode encodes a frame of RFC 6455. claimed is the length that the header states; if
// it is below 0, the header states the real one. The mask is zero, so the payload stays
// as it is.
func encode(first byte, payload []byte, claimed int64) []byte {
	if claimed < 0 {
		claimed = int64(len(payload))
	}
	out := []byte{first}
	switch {
	case claimed < 126:
		out = append(out, bitMasked|byte(claimed))
	case claimed <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, bitMasked|126), uint16(claimed))
	default:
		out = binary.BigEndian.AppendUint64(append(out, bitMasked|127), uint64(claimed))
	}
	return append(append(out, 0, 0, 0, 0), payload...)
}

func textFrame(text string) []byte { return encode(bitFinal|opText, []byte(text), -1) }

func (s *socket) send(raw []byte) error {
	_ = s.SetWriteDeadline(time.Now().Add(callTimeout)) // this cannot fail on an open connection
	_, err := s.Write(raw)
	return err
}

func (s *socket) sendText(text string) error { return s.send(textFrame(text)) }

// frame is a frame from the server: a message, or the code of its close.
type frame struct {
	checker.Frame
	closeCode int // 0: a message
}

func (s *socket) next(timeout time.Duration) (f frame, err error) {
	_ = s.SetReadDeadline(time.Now().Add(timeout)) // this cannot fail on an open connection
	_, f.Raw, err = s.ReadMessage()
	closed, ok := errors.AsType[*websocket.CloseError](err)
	switch {
	case ok && closed.Code != websocket.CloseAbnormalClosure: // which stands for an end without a close frame
		return frame{closeCode: closed.Code}, nil
	case err != nil:
		return f, err
	}
	return f, json.Unmarshal(f.Raw, &f.Frame)
}

// describe describes a frame: "error rate_limited" is an error reply, and "close 4429" a
// close. It returns "cut" for an end without a close frame, and "none" if no frame came in
// time.
func describe(f frame, err error) string {
	timeout, isNetError := errors.AsType[net.Error](err)
	switch {
	case isNetError && timeout.Timeout():
		return "none"
	case err != nil:
		return "cut"
	case f.closeCode != 0:
		return "close " + strconv.Itoa(f.closeCode)
	case f.Type == protocol.TypeError:
		return "error " + string(decodeError(f).Code)
	}
	return f.Type
}

// noteFrame notes how the server refused a message, as describe says. It returns whether
// the connection is still usable.
func (a *attacker) noteFrame(ctx context.Context, f frame, err error) bool {
	description := describe(f, err)
	switch {
	case errors.Is(err, net.ErrClosed), description == "none":
		return false // this program closed it, or stops to wait
	case err != nil:
		a.lost(ctx, description)
		return false
	case f.closeCode != 0:
		a.refused(description)
		return false
	case f.Type == protocol.TypeError:
		a.refused(description)
		e := decodeError(f)
		if e.Code == protocol.CodeRateLimited && e.RetryAfterMS <= 0 {
			a.violation("a message was refused as too fast without a retry time: %s", f.Data)
		}
		if e.Code == protocol.CodeInternal || e.Code == "" {
			a.violation("a message was answered with %s", f.Data)
		}
	}
	return true
}

func decodeError(f frame) (e protocol.Error) {
	_ = json.Unmarshal(f.Data, &e) // an unreadable reply has no code
	return e
}

// readUntil notes every frame until the connection ends, or until the given time.
func (a *attacker) readUntil(ctx context.Context, s *socket, until time.Time) {
	for {
		f, err := s.next(time.Until(until))
		if !a.noteFrame(ctx, f, err) {
			return
		}
	}
}
