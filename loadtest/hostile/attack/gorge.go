package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// readSlowly requests as much as the limits allow and reads almost nothing of it. Half
// of its sockets are websockets, half are HTTP. It opens no more sockets than can
// request much.
func (a *attacker) readSlowly(ctx context.Context) {
	a.runWorkers(ctx, 1+int(a.PerSecond*gorgeEvery.Seconds()), func(ctx context.Context, worker int) {
		if worker%2 == 0 {
			a.requestWithoutReading(ctx, worker)
			return
		}
		a.pipeline(ctx, worker)
	})
}

// runWorkers keeps as many workers active as the order has sockets, and at most as many
// as most says. Each call of one ends by itself.
func (a *attacker) runWorkers(ctx context.Context, most int, one func(ctx context.Context, worker int)) {
	open, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	var workers sync.WaitGroup
	for worker := range min(a.Sockets, most) {
		workers.Go(func() {
			for a.next(open) {
				one(ctx, worker)
			}
		})
	}
	workers.Wait()
}

// small makes the receive buffer of a connection as small as the system allows.
func small(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1) // the system may round it up
	}
}

// gorgeEvery is the shortest interval between messages that the default limit allows.
const gorgeEvery = time.Second / 18

// fullAfter is how long echoed messages take to fill the buffers of both systems. If the
// order allows more time than this, the attacker continues until the server closes the
// connection.
const fullAfter = 35 * time.Second

// requestWithoutReading makes the server echo the largest frames, and reads none.
func (a *attacker) requestWithoutReading(ctx context.Context, worker int) {
	s, err := a.greet(ctx, worker, a.token(fmt.Sprintf("bad_gorge_%d", worker)))
	if err != nil {
		return
	}
	defer s.Close()
	small(s.Conn)
	large := `{"id":2,"type":"ping","data":{"at":"` + pad(3900) + `"}}`
	until := a.until
	if a.SlowTimeout > fullAfter {
		until = a.until.Add(a.SlowTimeout)
	}
	again := time.NewTicker(gorgeEvery)
	defer again.Stop()
	for range again.C {
		if !a.next(ctx) || time.Now().After(until) || s.text(large) != nil {
			break
		}
	}
	a.listen(ctx, s, time.Second) // read the close reason, which comes behind all unread frames
}

// pipeline requests page after page over one connection and reads none.
func (a *attacker) pipeline(ctx context.Context, worker int) {
	conn, err := a.dial(ctx, worker)
	if err != nil {
		return
	}
	defer conn.Close()
	small(conn)
	for a.next(ctx) && time.Now().Before(a.until) {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // this cannot fail on an open connection
		if _, err := io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: laststand\r\n\r\n"); err != nil {
			a.lost(ctx, "cut")
			return
		}
	}
}
