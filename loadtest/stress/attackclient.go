package stress

import (
	"bytes"
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
	"laststand/loadtest/players"
)

// callTimeout bounds a request, a dial, and the wait for one frame.
const callTimeout = 10 * time.Second

// firstAddress is the number of the first address of attackers: 127.2.0.1.
const firstAddress = 2 * 62500

// worker is one of the hostile clients of an attacker, with an address that it may share.
type worker struct {
	*attacker
	ctx    context.Context // ends with the order
	number int
}

// dialer returns the dialer of a worker.
func (a *attacker) dialer(worker int) *net.Dialer {
	d := players.FromAddress(firstAddress + worker%a.Addresses)
	d.Timeout = callTimeout
	return d
}

// ask makes a call, and notes its answer. The status is 0 if none came.
func (w *worker) ask(c players.Call) players.Response {
	c.Client = w.clients[w.number%len(w.clients)]
	answer, err := c.Send(w.ctx)
	if err != nil {
		w.lost("cut")
		return players.Response{}
	}
	listener := "http "
	if strings.HasPrefix(c.URL, w.Ops) {
		listener = "ops "
	}
	w.noteAnswer(c.Method+" "+c.URL, listener, answer)
	return answer
}

// lost notes a connection that ended, unless the order has ended it.
func (w *worker) lost(refusal string) {
	if w.ctx.Err() == nil {
		w.refused(refusal)
	}
}

// noteAnswer notes an answer: "http 429" for a problem of the API, "ops 401" for one of
// the operations listener. "bare 431" is an answer of the HTTP library, which comes
// before any handler. Some answers are violations: a 5xx other than 503, a 429 or 503
// without a Retry-After, and a look inside the server.
func (a *attacker) noteAnswer(request, listener string, answer players.Response) {
	status, body := answer.Status, answer.Body
	if status < 400 {
		return
	}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json") {
		listener = "bare "
	}
	a.refused(listener + strconv.Itoa(status))
	isForNow := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	a.violationIf(isForNow && answer.Header.Get("Retry-After") == "", "%.80s was answered with %d without a Retry-After", request, status)
	a.violationIf(status >= 500 && !isForNow && listener != "bare ", "%.80s was answered with %d: %.200s", request, status, body)
	a.violationIf(bytes.Contains(body, []byte("goroutine ")) || bytes.Contains(body, []byte("panic")), "%.80s shows the inside of the server: %.200s", request, body)
}

// These are an opcode of RFC 6455, section 5.2, and the bits beside opcodes.
const (
	continuation  = 0x0
	bitFinal      = 0x80
	bitCompressed = 0x40
	bitMasked     = 0x80
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

func textFrame(text string) []byte { return encode(bitFinal|websocket.TextMessage, []byte(text), -1) }

// dial opens a TCP connection; nil: it failed, which is noted.
func (w *worker) dial() net.Conn {
	conn, err := w.dialer(w.number).DialContext(w.ctx, "tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		w.lost("no connection")
		return nil
	}
	return conn
}

// open opens a websocket; nil: it failed, which is noted. The origin is that of a page; "": none.
func (w *worker) open(origin string) *players.Player {
	ctx, cancel := context.WithTimeout(w.ctx, callTimeout)
	defer cancel()
	p, status, err := players.Dialer{LocalDialer: w.dialer(w.number), Origin: origin, Compression: true}.Open(ctx, w.URL)
	switch {
	case err == nil:
		return p
	case status == 0:
		w.lost("cut")
	default:
		w.violationIf(status >= 500 && status != http.StatusServiceUnavailable, "an upgrade was answered with %d", status)
		w.refused("upgrade " + strconv.Itoa(status))
	}
	return nil
}

// greet opens a websocket and says hello as a player of a game; nil: it failed, which is noted.
func (w *worker) greet(token string) *players.Player {
	p := w.open("")
	if p == nil {
		return nil
	}
	_, _ = p.Send(protocol.TypeHello, protocol.Hello{Token: token}) // the read finds a lost connection
	f, err := p.Read(callTimeout)
	if err == nil && f.Type == protocol.TypeWelcome {
		return p
	}
	w.noteFrame(f, err)
	_ = p.Close()
	return nil
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
func (w *worker) noteFrame(f checker.Frame, err error) bool {
	description := describe(f, err)
	switch {
	case errors.Is(err, net.ErrClosed), description == "none":
		return false // this program closed it, or stops to wait
	case err != nil:
		w.lost(description)
		return false
	case f.Type == protocol.TypeError:
		w.refused(description)
		e := decodeError(f)
		w.violationIf(e.Code == protocol.CodeRateLimited && e.RetryAfterMS <= 0, "a message was refused as too fast without a retry time: %s", f.Data)
		w.violationIf(e.Code == protocol.CodeInternal || e.Code == "", "a message was answered with %s", f.Data)
	}
	return true
}

func decodeError(f checker.Frame) (e protocol.Error) {
	_ = json.Unmarshal(f.Data, &e) // an unreadable reply has no code
	return e
}

// readUntil notes every frame until the connection ends, or until the given time.
func (w *worker) readUntil(p *players.Player, until time.Time) {
	for w.noteFrame(p.Read(time.Until(until))) {
	}
}
