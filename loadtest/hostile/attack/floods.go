package attack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/testenv"
)

// token returns a token of a hostile player of the game demo.
func (a *attacker) token(sub string) string {
	token, err := testenv.Token("player", sub)
	if err != nil {
		a.addViolation("a token of our own: %v", err)
	}
	return token
}

// flooded is the fewest messages a second that a flooding player sends. It is several
// times the limit.
const flooded = 100

// floodFrames runs players who send arbitrary messages, pings and pongs as fast as they
// may. When the server closes a connection, its player reconnects.
func (a *attacker) floodFrames(ctx context.Context) {
	frames := [][]byte{encode(bitFinal|opPing, nil, -1), encode(bitFinal|opPong, nil, -1)}
	for _, message := range []string{
		`{"id":2,"type":"ping","data":{"at":1}}`,
		`{"id":3,"type":"answer","data":{"match":"m_none","question":0,"choice":0}}`,
		`{"id":4,"type":"match.sync","data":{"match":"m_none","seq":0}}`,
		`{"id":5,"type":"board.watch","data":{"window":"all"}}`,
		`{"id":6,"type":"board.unwatch","data":{"window":"all"}}`,
		`{"id":7,"type":"nothing","data":{}}`,
		`{"id":8,"type":"ping","data":{"at":1,"more":2}}`,
	} {
		frames = append(frames, encode(bitFinal|opText, []byte(message), -1))
	}
	ctx, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	var workers sync.WaitGroup
	for worker := range min(a.Sockets, 1+int(a.PerSecond/flooded)) {
		workers.Go(func() {
			token := a.token(fmt.Sprintf("bad_frames_%d_%s", worker, rand.Text()[:6]))
			for a.next(ctx) {
				a.flood(ctx, worker, token, frames)
			}
		})
	}
	workers.Wait()
}

// flood sends frames over one connection until the server closes it.
func (a *attacker) flood(ctx context.Context, worker int, token string, frames [][]byte) {
	s, err := a.greet(ctx, worker, token)
	if err != nil {
		return
	}
	var reader sync.WaitGroup
	reader.Go(func() { a.listen(ctx, s, time.Until(a.until)+time.Second) })
	for i := 0; a.next(ctx); i++ {
		if s.put(frames[i%len(frames)]) != nil {
			break
		}
	}
	_ = s.Close()
	reader.Wait()
}

// floodConnects connects and disconnects, at each step of the handshake.
func (a *attacker) floodConnects(ctx context.Context) {
	var step atomic.Int64
	a.playBots(ctx, 128, func(ctx context.Context, worker int) {
		now := step.Add(1) % 4
		if now == 0 {
			if conn, err := a.dial(ctx, worker); err == nil {
				_ = conn.Close()
			}
			return
		}
		if now == 1 {
			if s, err := a.open(ctx, worker, "Origin: https://evil.example\r\n"); err == nil {
				a.addViolation("a page of another origin was let in")
				_ = s.Close()
			}
			return
		}
		s, err := a.open(ctx, worker, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
		if err != nil {
			return
		}
		if now == 2 {
			_ = s.text(`{"id":1,"type":"hel`)
		}
		_ = s.Close()
	})
}

// floodHellos says hello with good and bad tokens, again and again.
func (a *attacker) floodHellos(ctx context.Context) {
	good := a.token("bad_hello")
	a.playBots(ctx, 64, func(ctx context.Context, worker int) {
		token := good
		if worker%2 == 0 {
			token = "eyJhbGciOiJIUzI1NiJ9." + rand.Text() + "." + rand.Text()
		}
		s, err := a.greet(ctx, worker, token)
		if err != nil {
			return
		}
		if token != good {
			a.addViolation("a token of no shape was welcome")
		}
		a.served()
		_ = s.Close()
	})
}

// guest requests a new guest.
func (a *attacker) guest(ctx context.Context, worker int, header http.Header) reply {
	body := fmt.Sprintf(`{"device":%q}`, rand.Text()+rand.Text()[:6])
	return a.ask(ctx, worker, call{method: "POST", path: "/v1/games/demo/guests", body: body, header: header})
}

// floodGuests makes guests. More guests than the limit of an address are a violation.
func (a *attacker) floodGuests(ctx context.Context) {
	a.countGuests(ctx, func(int) http.Header { return nil })
}

// countGuests makes guests with the given headers. It compares their number with the
// limit of the addresses that they really come from.
func (a *attacker) countGuests(ctx context.Context, header func(n int) http.Header) {
	var asked, made atomic.Int64
	a.playBots(ctx, 64, func(ctx context.Context, worker int) {
		if a.guest(ctx, worker, header(int(asked.Add(1)))).status == http.StatusCreated {
			made.Add(1)
		}
	})
	a.granted("guests", made.Load(), a.Bounds.Guests, time.Minute)
}

// spoofAddresses does the same as floodGuests, but each request claims to come from
// another address.
func (a *attacker) spoofAddresses(ctx context.Context) {
	a.countGuests(ctx, func(n int) http.Header {
		from := fmt.Sprintf("203.0.%d.%d", n/250%250, n%250)
		return http.Header{
			"X-Forwarded-For": {from, "10.1.2.3, " + from}, "X-Real-Ip": {from}, "Forwarded": {"for=" + from},
			"Cf-Connecting-Ip": {from}, "True-Client-Ip": {from}, "X-Forwarded-Proto": {"https"},
		}
	})
}

// floodLookups looks up nicknames.
func (a *attacker) floodLookups(ctx context.Context) {
	var reported atomic.Int64
	a.playBots(ctx, 64, func(ctx context.Context, worker int) {
		if a.ask(ctx, worker, call{method: "GET", path: "/v1/games/demo/nicknames/" + rand.Text()[:12]}).status == http.StatusOK {
			reported.Add(1)
		}
	})
	a.granted("nicknames", reported.Load(), a.Bounds.Lookups, time.Minute)
}
