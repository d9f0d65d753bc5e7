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
	conn, err := dialer(a.Sources[worker%len(a.Sources)]).DialContext(ctx, "tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		a.lost(ctx, "no connection")
		return nil, err
	}
	return conn, nil
}

// errUpgrade says that the server refused the upgrade; the attacker has noted the
// reason.
var errUpgrade = errors.New("attack: no websocket")

// open opens a websocket; more are additional header lines.
func (a *attacker) open(ctx context.Context, worker int, more ...string) (*socket, error) {
	conn, err := a.dial(ctx, worker)
	if err != nil {
		return nil, err
	}
	s := &socket{conn, bufio.NewReaderSize(conn, 4096)}
	_ = conn.SetDeadline(time.Now().Add(callWithin)) // this cannot fail on an open connection
	_, err = io.WriteString(conn, "GET /v1/ws HTTP/1.1\r\nHost: laststand\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: laststand.v1\r\n"+
		strings.Join(more, "")+"\r\n")
	if err == nil {
		var answer *http.Response
		if answer, err = http.ReadResponse(s.in, nil); err == nil {
			if answer.StatusCode == http.StatusSwitchingProtocols {
				return s, conn.SetDeadline(time.Time{})
			}
			a.upgradeRefused(answer)
			_ = conn.Close()
			return nil, errUpgrade
		}
	}
	_ = conn.Close()
	a.lost(ctx, "cut")
	return nil, err
}

func (a *attacker) upgradeRefused(answer *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostBody)) // the content does not matter
	_ = answer.Body.Close()
	a.refused("upgrade " + strconv.Itoa(answer.StatusCode))
	if answer.StatusCode >= 500 && answer.StatusCode != http.StatusServiceUnavailable {
		a.addViolation("an upgrade was answered with %d", answer.StatusCode)
	}
}

// greet opens a websocket and says hello as a player of a game.
func (a *attacker) greet(ctx context.Context, worker int, token string) (*socket, error) {
	s, err := a.open(ctx, worker)
	if err != nil {
		return nil, err
	}
	hello, _ := json.Marshal(protocol.Hello{Token: token}) // texts always encode
	_ = s.text(`{"id":1,"type":"hello","data":` + string(hello) + `}`)
	f, err := s.next(callWithin)
	if err == nil && f.Type == protocol.TypeWelcome {
		return s, nil
	}
	a.checkReply(ctx, f, err)
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

// put writes bytes unchanged.
func (s *socket) put(raw []byte) error {
	_ = s.SetWriteDeadline(time.Now().Add(callWithin)) // this cannot fail on an open connection
	_, err := s.Write(raw)
	return err
}

func (s *socket) text(frame string) error { return s.put(encode(bitFinal|opText, []byte(frame), -1)) }

// receivedFrame is a frame from the server: a message, or the code of its close.
type receivedFrame struct {
	Re     *int64          `json:"re"`
	Type   string          `json:"type"`
	Match  string          `json:"match"`
	Data   json.RawMessage `json:"data"`
	closed int
	at     time.Time
}

// mostFrame bounds how much of a server's frame is read, in bytes.
const mostFrame = 4 << 20

// next waits for the next message or close frame, and skips pings.
func (s *socket) next(within time.Duration) (f receivedFrame, err error) {
	_ = s.SetReadDeadline(time.Now().Add(within)) // this cannot fail on an open connection
	for {
		op, payload, err := s.frame()
		switch {
		case err != nil:
			return f, err
		case op == opClose && len(payload) >= 2:
			return receivedFrame{closed: int(binary.BigEndian.Uint16(payload))}, nil
		case op == opText:
			f.at = time.Now()
			return f, json.Unmarshal(payload, &f)
		}
	}
}

func (s *socket) frame() (op byte, payload []byte, err error) {
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
	if size > mostFrame {
		return 0, nil, fmt.Errorf("attack: a frame of %d bytes", size)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(s.in, payload)
	return head[0] & 0xf, payload, err
}

// checkReply notes how the server refused a message. It notes "error rate_limited" for a
// reply, "close 4429" for a close, and "cut" for an end without a close frame. It
// returns whether the connection is still usable.
func (a *attacker) checkReply(ctx context.Context, f receivedFrame, err error) bool {
	switch {
	case errors.Is(err, net.ErrClosed):
		return false // we closed it
	case err != nil:
		if late, ok := errors.AsType[net.Error](err); !ok || !late.Timeout() {
			a.lost(ctx, "cut")
		}
		return false
	case f.closed != 0:
		a.refused("close " + strconv.Itoa(f.closed))
		return false
	case f.Type == protocol.TypeError:
		e := refusal(f)
		a.refused("error " + string(e.Code))
		if e.Code == protocol.CodeRateLimited && e.RetryAfterMS <= 0 {
			a.addViolation("a message was refused as too fast without a time: %s", f.Data)
		}
		if e.Code == protocol.CodeInternal || e.Code == "" {
			a.addViolation("a message was answered with %s", f.Data)
		}
	}
	return true
}

// refusal decodes an error reply.
func refusal(f receivedFrame) (e protocol.Error) {
	_ = json.Unmarshal(f.Data, &e) // an unreadable reply has no code
	return e
}

// listen notes every frame until the connection ends, or for the given time.
func (a *attacker) listen(ctx context.Context, s *socket, within time.Duration) {
	until := time.Now().Add(within)
	for {
		f, err := s.next(time.Until(until))
		if !a.checkReply(ctx, f, err) {
			return
		}
	}
}
