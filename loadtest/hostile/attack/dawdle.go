package attack

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// slowClient begins something and continues it byte by byte. The server must cut it
// off within the time by.
type slowClient struct {
	name  string
	begin func(a *attacker, ctx context.Context, worker int) (net.Conn, error)
	drip  string // what follows, one byte at a time; "" for silence
	by    time.Duration
}

// These are the bounds of the server, with a margin for a busy machine. The server
// allows 5 s for headers and a hello, 30 s for a body, and 75 s of silence in a session.
const (
	soon  = 5*time.Second + slack
	later = 30*time.Second + slack
	slack = 7 * time.Second
)

var slowWriters = []slowClient{
	{"headers", bare("GET /healthz HTTP/1.1\r\nHost: laststand\r\n"), "X-Slow: " + pad(4000), soon},
	{"a request line", bare("GET /health"), pad(4000), soon},
	{"a body", bare("POST /v1/games/demo/guests HTTP/1.1\r\nHost: laststand\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"), pad(900), later},
	{"chunks", bare("POST /v1/games/demo/guests HTTP/1.1\r\nHost: laststand\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"), "1\r\n{\r\n" + pad(900), later},
	{"a hello", upgraded(string(encode(bitFinal|opText, nil, 200))), pad(190), soon},
	{"a hello in fragments", upgraded(string(encode(opText, []byte("{"), -1))), string(encode(opContinuation, []byte(" "), -1)), soon},
}

var halfOpen = []slowClient{
	{"a connection", bare(""), "", soon},
	{"a connection that was of use once", bare("GET /healthz HTTP/1.1\r\nHost: laststand\r\n\r\n"), "", 2*time.Minute + slack},
	{"a websocket", upgraded(""), "", soon},
	{"a websocket that pings", upgraded(""), string(encode(bitFinal|opPing, nil, -1)), soon},
}

func bare(first string) func(*attacker, context.Context, int) (net.Conn, error) {
	return func(a *attacker, ctx context.Context, worker int) (net.Conn, error) {
		conn, err := a.dial(ctx, worker)
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(conn, first)
		return conn, err
	}
}

func upgraded(first string) func(*attacker, context.Context, int) (net.Conn, error) {
	return func(a *attacker, ctx context.Context, worker int) (net.Conn, error) {
		s, err := a.open(ctx, worker)
		if err != nil {
			return nil, err
		}
		return s, s.put([]byte(first))
	}
}

// writeSlowly begins requests, headers, bodies and frames, and continues them byte by
// byte.
func (a *attacker) writeSlowly(ctx context.Context) { a.runSlowClients(ctx, slowWriters) }

// sayNothing connects and sends nothing more.
func (a *attacker) sayNothing(ctx context.Context) { a.runSlowClients(ctx, halfOpen) }

func (a *attacker) runSlowClients(ctx context.Context, ways []slowClient) {
	a.runWorkers(ctx, a.Sockets, func(ctx context.Context, worker int) { a.runSlowClient(ctx, worker, ways[worker%len(ways)]) })
}

// drippedEvery is the interval at which a slow client writes a byte.
const drippedEvery = 400 * time.Millisecond

// runSlowClient continues until the server cuts the connection, which must happen in
// time. If that time is after the end of the order, it gives up at the end, unless
// SlowTimeout allows it to wait.
func (a *attacker) runSlowClient(ctx context.Context, worker int, d slowClient) {
	conn, err := d.begin(a, ctx, worker)
	if err != nil {
		if conn != nil {
			_ = conn.Close()
			a.lost(ctx, "cut")
		}
		return
	}
	giveUp := a.until
	if d.by <= a.SlowTimeout {
		giveUp = a.until.Add(a.SlowTimeout)
	}
	ended := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(ended)
		a.readUntilClosed(ctx, conn)
	})
	defer reader.Wait()
	defer conn.Close() // before the wait
	a.drip(ctx, conn, d, giveUp, ended)
}

// drip writes byte by byte until the connection has ended, or until giveUp.
func (a *attacker) drip(ctx context.Context, conn net.Conn, d slowClient, giveUp time.Time, ended <-chan struct{}) {
	began := time.Now()
	again := time.NewTicker(drippedEvery)
	defer again.Stop()
	for said := 0; ; said++ {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			return
		case now := <-again.C:
			if now.Sub(began) > d.by {
				a.addViolation("%s, byte by byte, was let go on for %s", d.name, d.by)
				return
			}
			if now.After(giveUp) {
				return
			}
			if d.drip != "" {
				_ = conn.SetWriteDeadline(now.Add(time.Second)) // this cannot fail on an open connection
				_, _ = conn.Write([]byte{d.drip[said%len(d.drip)]})
			}
		}
	}
}

// readUntilClosed reads until the server ends the connection, and notes how it ended.
func (a *attacker) readUntilClosed(ctx context.Context, conn net.Conn) {
	if s, ok := conn.(*socket); ok {
		a.listen(ctx, s, time.Hour)
		return
	}
	first := make([]byte, 12) // HTTP/1.1 408
	n, _ := io.ReadFull(conn, first)
	_, err := io.Copy(io.Discard, conn)
	switch {
	case ctx.Err() != nil, isOurs(err):
	case n == len(first) && first[9] >= '4':
		a.refused("bare " + string(first[9:12]))
	default:
		a.refused("cut")
	}
}
