package attack

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/client"
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
type socket struct {
	net.Conn
	in *bufio.Reader
}

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
var errUpgrade = errors.New("attack: no websocket")

// open opens a websocket; headers are additional header lines.
func (a *attacker) open(ctx context.Context, worker int, headers ...string) (*socket, error) {
	conn, err := a.dial(ctx, worker)
	if err != nil {
		return nil, err
	}
	s := &socket{conn, bufio.NewReaderSize(conn, 4096)}
	_ = conn.SetDeadline(time.Now().Add(callTimeout)) // this cannot fail on an open connection
	var response *http.Response
	_, err = io.WriteString(conn, "GET /v1/ws HTTP/1.1\r\nHost: laststand\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: laststand.v1\r\n"+
		strings.Join(headers, "")+"\r\n")
	if err == nil {
		response, err = http.ReadResponse(s.in, nil)
	}
	if err != nil {
		_ = conn.Close()
		a.lost(ctx, "cut")
		return nil, err
	}
	if status := response.StatusCode; status != http.StatusSwitchingProtocols {
		_ = response.Body.Close()
		_ = conn.Close()
		a.refused("upgrade " + strconv.Itoa(status))
		if status >= 500 && status != http.StatusServiceUnavailable {
			a.violation("an upgrade was answered with %d", status)
		}
		return nil, errUpgrade
	}
	return s, conn.SetDeadline(time.Time{})
}

// greet opens a websocket and says hello as a player of a game.
func (a *attacker) greet(ctx context.Context, worker int, token string) (*socket, error) {
	s, err := a.open(ctx, worker)
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

// textFrame encodes a text message as one frame.
func textFrame(text string) []byte { return encode(bitFinal|opText, []byte(text), -1) }

// send writes bytes unchanged.
func (s *socket) send(raw []byte) error {
	_ = s.SetWriteDeadline(time.Now().Add(callTimeout)) // this cannot fail on an open connection
	_, err := s.Write(raw)
	return err
}

func (s *socket) sendText(text string) error { return s.send(textFrame(text)) }

// frame is a frame from the server: a message, or the code of its close.
type frame struct {
	client.Frame
	closeCode int // 0: a message
}

// maxFrame bounds how much of a server's frame is read, in bytes.
const maxFrame = 4 << 20

// next waits for the next message or close frame, and skips pings.
func (s *socket) next(timeout time.Duration) (f frame, err error) {
	_ = s.SetReadDeadline(time.Now().Add(timeout)) // this cannot fail on an open connection
	for {
		op, payload, err := s.readFrame()
		switch {
		case err != nil:
			return f, err
		case op == opClose && len(payload) >= 2:
			return frame{closeCode: int(binary.BigEndian.Uint16(payload))}, nil
		case op == opText:
			f.Raw = payload
			return f, json.Unmarshal(payload, &f.Frame)
		}
	}
}

func (s *socket) readFrame() (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return 0, nil, err
	}
	size := uint64(head[1])
	if wide := map[uint64]int{126: 2, 127: 8}[size]; wide > 0 {
		var long [8]byte
		if _, err := io.ReadFull(s.in, long[8-wide:]); err != nil {
			return 0, nil, err
		}
		size = binary.BigEndian.Uint64(long[:])
	}
	if size > maxFrame {
		return 0, nil, fmt.Errorf("attack: a frame of %d bytes", size)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(s.in, payload)
	return head[0] & 0xf, payload, err
}

// describe describes a frame or its absence: "error rate_limited" for an error reply,
// "close 4429" for a close, "cut" for an end without a close frame, and "none" if no
// frame came in time.
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
