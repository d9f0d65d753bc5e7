package stress

import (
	"bytes"
	"context"
	"crypto/rand"
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

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// callTimeout bounds a request, a dial, and the wait for one frame.
const callTimeout = 10 * time.Second

// firstAddress is the number of the first address of attackers: 127.2.0.1.
const firstAddress = 2 * 62500

// dialer returns the dialer of a worker.
func (a *attacker) dialer(worker int) *net.Dialer {
	d := players.FromAddress(firstAddress + worker%a.Addresses)
	d.Timeout = callTimeout
	return d
}

type call struct {
	method, path, body string
	header             http.Header
	isOps              bool // to the operations listener
	host               string
}

// answer is the answer to a call; its status is 0 if none came.
type answer struct {
	status int
	body   string
}

// maxBody bounds how much of an answer is read, in bytes.
const maxBody = 1 << 20

func (a *attacker) ask(ctx context.Context, worker int, c call) answer {
	url, listener := a.URL, "http "
	if c.isOps {
		url, listener = a.Ops, "ops "
	}
	r, err := http.NewRequestWithContext(ctx, c.method, url+c.path, strings.NewReader(c.body))
	if err != nil {
		a.violation("this program makes an invalid request: %v", err)
		return answer{}
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	r.Host = c.host
	response, err := a.clients[worker%len(a.clients)].Do(r)
	var body []byte
	if err == nil {
		defer response.Body.Close()
		body, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	}
	if err != nil {
		a.lost(ctx, "cut")
		return answer{}
	}
	a.noteAnswer(c.method+" "+c.path, listener, response, body)
	return answer{response.StatusCode, string(body)}
}

// noteAnswer notes an answer: "http 429" for a problem of the API, "ops 401" for one of
// the operations listener. "bare 431" is an answer of the HTTP library, which comes
// before any handler. Some answers are violations: a 5xx other than 503, a 429 or 503
// without a Retry-After, and a look inside the server.
func (a *attacker) noteAnswer(request, listener string, response *http.Response, body []byte) {
	status := response.StatusCode
	if status < 400 {
		return
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") {
		listener = "bare "
	}
	a.refused(listener + strconv.Itoa(status))
	isForNow := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	switch {
	case isForNow && response.Header.Get("Retry-After") == "":
		a.violation("%.80s was answered with %d without a Retry-After", request, status)
	case status >= 500 && status != http.StatusServiceUnavailable && listener != "bare ":
		a.violation("%.80s was answered with %d: %.200s", request, status, body)
	case bytes.Contains(body, []byte("goroutine ")), bytes.Contains(body, []byte("panic")):
		a.violation("%.80s shows the inside of the server: %.200s", request, body)
	}
}

func newGuest(header http.Header) call {
	body := fmt.Sprintf(`{"device":%q}`, rand.Text()+rand.Text()[:6])
	return call{method: "POST", path: "/v1/games/demo/guests", body: body, header: header}
}

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

// dial opens a TCP connection from the worker's address.
func (a *attacker) dial(ctx context.Context, worker int) (net.Conn, error) {
	conn, err := a.dialer(worker).DialContext(ctx, "tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		a.lost(ctx, "no connection")
	}
	return conn, err
}

// open opens a websocket from the worker's address. The origin is that of a page; "": none. The
// attacker notes a refusal.
func (a *attacker) open(ctx context.Context, worker int, origin string) (*players.Player, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p, status, err := players.Dialer{LocalDialer: a.dialer(worker), Origin: origin, Compression: true}.Open(ctx, a.URL)
	switch {
	case err == nil:
		return p, nil
	case status == 0:
		a.lost(ctx, "cut")
		return nil, err
	case status >= 500 && status != http.StatusServiceUnavailable:
		a.violation("an upgrade was answered with %d", status)
	}
	a.refused("upgrade " + strconv.Itoa(status))
	return nil, err
}

// errNoWelcome says that the server refused a hello; the attacker has noted the reason.
var errNoWelcome = errors.New("stress: no welcome")

// greet opens a websocket and says hello as a player of a game.
func (a *attacker) greet(ctx context.Context, worker int, token string) (*players.Player, error) {
	p, err := a.open(ctx, worker, "")
	if err != nil {
		return nil, err
	}
	_, _ = p.Send(protocol.TypeHello, protocol.Hello{Token: token}) // the read finds a lost connection
	f, err := p.Read(callTimeout)
	if err == nil && f.Type == protocol.TypeWelcome {
		return p, nil
	}
	a.noteFrame(ctx, f, err)
	_ = p.Close()
	return nil, errNoWelcome
}

// send writes bytes unchanged to a connection, within a bounded time.
func send(conn net.Conn, raw []byte) error {
	_ = conn.SetWriteDeadline(time.Now().Add(callTimeout)) // this cannot fail on an open connection
	_, err := conn.Write(raw)
	return err
}

// describe describes a frame: "error rate_limited" is an error reply, and "close 4429" a
// close. It returns "cut" for an end without a close frame, and "none" if no frame came in
// time.
func describe(f checker.Frame, err error) string {
	timeout, isNetError := errors.AsType[net.Error](err)
	code := players.CloseCode(err)
	switch {
	case isNetError && timeout.Timeout():
		return "none"
	case code != 0 && code != websocket.CloseAbnormalClosure: // which stands for an end without a close frame
		return "close " + strconv.Itoa(code)
	case err != nil:
		return "cut"
	case f.Type == protocol.TypeError:
		return "error " + string(decodeError(f).Code)
	}
	return f.Type
}

// noteFrame notes how the server refused a message, as describe says. It returns whether
// the connection is still usable.
func (a *attacker) noteFrame(ctx context.Context, f checker.Frame, err error) bool {
	description := describe(f, err)
	switch {
	case errors.Is(err, net.ErrClosed), description == "none":
		return false // this program closed it, or stops to wait
	case err != nil:
		a.lost(ctx, description)
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

func decodeError(f checker.Frame) (e protocol.Error) {
	_ = json.Unmarshal(f.Data, &e) // an unreadable reply has no code
	return e
}

// readUntil notes every frame until the connection ends, or until the given time.
func (a *attacker) readUntil(ctx context.Context, p *players.Player, until time.Time) {
	for {
		f, err := p.Read(time.Until(until))
		if !a.noteFrame(ctx, f, err) {
			return
		}
	}
}
