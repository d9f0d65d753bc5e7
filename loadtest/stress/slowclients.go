package stress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/testenv"
)

// slowClient starts a request or a connection and continues it byte by byte. The server
// must cut it off within the limit.
type slowClient struct {
	name       string
	isUpgraded bool   // to a websocket
	first      string // bytes
	drip       string // the bytes that follow, one at a time; "" for silence
	limit      time.Duration
}

// These are the time limits of the server, with a margin for a busy machine. The server
// allows 5 s for headers and a hello, 30 s for a body, and 2 minutes of silence between
// requests.
const (
	margin      = 7 * time.Second
	headerLimit = 5*time.Second + margin
	bodyLimit   = 30*time.Second + margin
	idleLimit   = 2*time.Minute + margin
)

const guestRequest = "POST /v1/games/demo/guests HTTP/1.1\r\nHost: laststand\r\nContent-Type: application/json\r\n"

var slowWriters = []slowClient{
	{"headers", false, "GET /healthz HTTP/1.1\r\nHost: laststand\r\n", "X-Slow: " + pad(4000), headerLimit},
	{"a request line", false, "GET /health", pad(4000), headerLimit},
	{"a body", false, guestRequest + "Content-Length: 1000\r\n\r\n{", pad(900), bodyLimit},
	{"chunks", false, guestRequest + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n" + pad(900), bodyLimit},
	{"a hello", true, string(encode(bitFinal|websocket.TextMessage, nil, 200)), pad(190), headerLimit},
	{"a hello in fragments", true, string(encode(websocket.TextMessage, []byte("{"), -1)), string(encode(continuation, []byte(" "), -1)), headerLimit},
}

var halfOpen = []slowClient{
	{"a connection", false, "", "", headerLimit},
	{"a connection after one request", false, "GET /healthz HTTP/1.1\r\nHost: laststand\r\n\r\n", "", idleLimit},
	{"a websocket", true, "", "", headerLimit},
	{"a websocket that pings", true, "", string(encode(bitFinal|websocket.PingMessage, nil, -1)), headerLimit},
}

// writeSlowly starts requests, headers, bodies and frames, and continues them byte by
// byte.
func writeSlowly(ctx context.Context, a *attacker) { runSlowClients(ctx, a, slowWriters) }

// sendNothing connects and sends nothing more.
func sendNothing(ctx context.Context, a *attacker) { runSlowClients(ctx, a, halfOpen) }

func runSlowClients(ctx context.Context, a *attacker, all []slowClient) {
	a.repeat(ctx, a.Sockets, 0, func(w *worker, _ int) { w.runSlowClient(all[w.number%len(all)]) })
}

// runSlowClient connects and continues until the server cuts the connection, which must happen in
// time.
func (w *worker) runSlowClient(c slowClient) {
	if !c.isUpgraded {
		if conn := w.dial(); conn != nil {
			w.continueSlowly(c, conn, func() { w.readUntilClosed(conn) })
		}
	} else if p := w.open(""); p != nil {
		w.continueSlowly(c, p.NetConn(), func() { w.readUntil(p, time.Now().Add(time.Hour)) })
	}
}

// continueSlowly continues a slow client, while read reads until the server ends the connection. If
// the limit is after the end of the order, it gives up at the end, unless SlowTimeout allows it to
// wait.
func (w *worker) continueSlowly(c slowClient, conn net.Conn, read func()) {
	giveUpAt := w.until
	if c.limit <= w.SlowTimeout {
		giveUpAt = w.until.Add(w.SlowTimeout)
	}
	connected, end := context.WithCancel(w.ctx)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer end()
		read()
	})
	_ = send(conn, []byte(c.first)) // the reader notes a lost connection
	startedAt := time.Now()
	for n := 0; testenv.Pause(connected, dripInterval) == nil; n++ {
		isTooLate := time.Since(startedAt) > c.limit
		w.violationIf(isTooLate, "the server did not cut off %s, byte by byte, within %s", c.name, c.limit)
		if isTooLate || time.Now().After(giveUpAt) {
			break
		}
		if c.drip != "" {
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // this cannot fail on an open connection
			_, _ = conn.Write([]byte{c.drip[n%len(c.drip)]})
		}
	}
	_ = conn.Close()
	reader.Wait()
}

// dripInterval is the interval at which a slow client writes a byte.
const dripInterval = 400 * time.Millisecond

// readUntilClosed reads until the server ends the connection, and notes how it ended.
func (w *worker) readUntilClosed(conn net.Conn) {
	first := make([]byte, 12) // HTTP/1.1 408
	n, _ := io.ReadFull(conn, first)
	_, err := io.Copy(io.Discard, conn)
	switch {
	case errors.Is(err, net.ErrClosed): // this program closed it
	case n == len(first) && first[9] >= '4':
		w.lost("bare " + string(first[9:12]))
	default:
		w.lost("cut")
	}
}

// echoInterval is the shortest interval between messages that the default limit allows.
const echoInterval = time.Second / 18

// readSlowly requests as much as the limits allow and reads almost nothing of it. Half
// of its sockets are websockets, half are HTTP. It opens no more sockets than can
// request much.
func readSlowly(ctx context.Context, a *attacker) {
	a.repeat(ctx, 1+int(a.PerSecond*echoInterval.Seconds()), 0, func(w *worker, _ int) {
		if w.number%2 == 0 {
			w.echoWithoutReading()
		} else {
			w.pipelineWithoutReading()
		}
	})
}

// shrinkBuffer makes the receive buffer of a connection as small as the system allows.
func shrinkBuffer(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1) // the system may round it up
	}
}

// fullAfter is how long echoed messages take to fill the buffers of both systems. If the
// order allows more time than this, the attacker continues until the server closes the
// connection.
const fullAfter = 35 * time.Second

// echoWithoutReading makes the server echo the largest frames, and reads none.
func (w *worker) echoWithoutReading() {
	s := w.greet(w.token(fmt.Sprintf("bad_reader_%d", w.number)))
	if s == nil {
		return
	}
	defer s.Close()
	shrinkBuffer(s.NetConn())
	large := textFrame(`{"id":2,"type":"ping","data":{"at":"` + pad(3900) + `"}}`)
	until := w.until
	if w.SlowTimeout > fullAfter {
		until = w.until.Add(w.SlowTimeout)
	}
	for w.awaitPace() && time.Now().Before(until) && send(s.NetConn(), large) == nil {
		_ = testenv.Pause(w.ctx, echoInterval)
	}
	w.readUntil(s, time.Now().Add(time.Second)) // the close reason comes behind all unread frames
}

// pipelineWithoutReading requests page after page over one connection and reads none.
func (w *worker) pipelineWithoutReading() {
	conn := w.dial()
	if conn == nil {
		return
	}
	defer conn.Close()
	shrinkBuffer(conn)
	for w.next() {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // this cannot fail on an open connection
		if _, err := io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: laststand\r\n\r\n"); err != nil {
			w.lost("cut")
			return
		}
	}
}
