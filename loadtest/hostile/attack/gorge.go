package attack

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// readSlowly asks for as much as it may and reads next to nothing of it: half
// the sockets are websockets, half HTTP. There are no more than can ask for much.
func (a *attacker) readSlowly(ctx context.Context) {
	a.runWorkers(ctx, 1+int(a.PerSecond*gorgeEvery.Seconds()), func(ctx context.Context, worker int) {
		if worker%2 == 0 {
			a.requestWithoutReading(ctx, worker)
			return
		}
		a.pipeline(ctx, worker)
	})
}

// runWorkers keeps as many sockets at work as there may be, and at most so many; each
// ends by itself.
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

// small has a connection take in as little as the system lets it.
func small(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(1) // a wish
	}
}

// gorgeEvery is as often as a message may come, by the default limit.
const gorgeEvery = time.Second / 18

// fullAfter is how long the buffers of both systems take of what is echoed. Who
// has the patience gorges on until the server has had enough.
const fullAfter = 35 * time.Second

// requestWithoutReading has the largest frames echoed and reads none.
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
	a.listen(ctx, s, time.Second) // why it was closed, behind all that it had not read
}

// pipeline asks for page after page over one connection and reads none.
func (a *attacker) pipeline(ctx context.Context, worker int) {
	conn, err := a.dial(ctx, worker)
	if err != nil {
		return
	}
	defer conn.Close()
	small(conn)
	for a.next(ctx) && time.Now().Before(a.until) {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // it cannot fail on an open one
		if _, err := io.WriteString(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: laststand\r\n\r\n"); err != nil {
			a.lost(ctx, "cut")
			return
		}
	}
}
