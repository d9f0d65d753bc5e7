package stress

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/players"
)

// floodRate is the fewest messages a second that a flooding player sends. It is several
// times the limit.
const floodRate = 100

// floodFrames runs players who send arbitrary messages, pings and pongs as fast as they
// can. When the server closes a connection, its player reconnects.
func floodFrames(ctx context.Context, a *attacker) {
	frames := [][]byte{
		encode(bitFinal|opPing, nil, -1), encode(bitFinal|opPong, nil, -1),
		textFrame(`{"id":2,"type":"ping","data":{"at":1}}`),
		textFrame(`{"id":3,"type":"answer","data":{"match":"m_none","question":0,"choice":0}}`),
		textFrame(`{"id":4,"type":"match.sync","data":{"match":"m_none","seq":0}}`),
		textFrame(`{"id":5,"type":"board.watch","data":{"window":"all"}}`),
		textFrame(`{"id":6,"type":"board.unwatch","data":{"window":"all"}}`),
		textFrame(`{"id":7,"type":"nothing","data":{}}`),
		textFrame(`{"id":8,"type":"ping","data":{"at":1,"more":2}}`),
	}
	run := rand.Text()[:6]
	a.repeat(ctx, 1+int(a.PerSecond/floodRate), 0, func(ctx context.Context, worker, _ int) {
		s, err := a.greet(ctx, worker, a.token(fmt.Sprintf("bad_frames_%d_%s", worker, run)))
		if err != nil {
			return
		}
		var reader sync.WaitGroup
		reader.Go(func() { a.readUntil(ctx, s, a.until.Add(time.Second)) })
		for i := 0; a.next(ctx); i++ {
			if send(s.NetConn(), frames[i%len(frames)]) != nil {
				break
			}
		}
		_ = s.Close()
		reader.Wait()
	})
}

// floodConnects connects and disconnects, at each step of the handshake.
func floodConnects(ctx context.Context, a *attacker) {
	a.repeat(ctx, 128, 0, func(ctx context.Context, worker, n int) {
		switch n % 4 {
		case 0:
			if conn, err := a.dial(ctx, worker); err == nil {
				_ = conn.Close()
			}
		case 1:
			if s, err := a.open(ctx, worker, "https://evil.example"); err == nil {
				a.violation("the server accepted a page of another origin")
				_ = s.Close()
			}
		default:
			s, err := a.open(ctx, worker, "")
			if err != nil {
				return
			}
			if n%4 == 2 {
				_ = send(s.NetConn(), textFrame(`{"id":1,"type":"hel`))
			}
			_ = s.Close()
		}
	})
}

// floodHellos says hello with good and bad tokens, again and again.
func floodHellos(ctx context.Context, a *attacker) {
	good := a.token("bad_hello")
	a.repeat(ctx, 64, 0, func(ctx context.Context, worker, _ int) {
		token := good
		if worker%2 == 0 {
			token = "eyJhbGciOiJIUzI1NiJ9." + rand.Text() + "." + rand.Text()
		}
		s, err := a.greet(ctx, worker, token)
		if err != nil {
			return
		}
		if token != good {
			a.violation("the server welcomed a random token")
		}
		_ = s.Close()
	})
}

// floodCalls makes calls that the server limits per address, and checks how many it
// granted.
func floodCalls(ctx context.Context, a *attacker, name string, granted, limit int, period time.Duration, makeCall func(n int) call) {
	var count atomic.Int64
	a.repeat(ctx, 64, 0, func(ctx context.Context, worker, n int) {
		if a.ask(ctx, worker, makeCall(n)).status == granted {
			count.Add(1)
		}
	})
	a.checkGranted(name, count.Load(), limit, period)
}

func floodGuests(ctx context.Context, a *attacker) {
	floodCalls(ctx, a, "guests", http.StatusCreated, a.Limits.Guests, time.Minute, func(int) call { return newGuest(nil) })
}

// spoofAddresses makes guests, and each request claims to come from another address.
func spoofAddresses(ctx context.Context, a *attacker) {
	floodCalls(ctx, a, "guests", http.StatusCreated, a.Limits.Guests, time.Minute, func(n int) call {
		address := fmt.Sprintf("203.0.%d.%d", n/250%250, n%250)
		return newGuest(http.Header{
			"X-Forwarded-For": {address, "10.1.2.3, " + address}, "X-Real-Ip": {address}, "Forwarded": {"for=" + address},
			"Cf-Connecting-Ip": {address}, "True-Client-Ip": {address}, "X-Forwarded-Proto": {"https"},
		})
	})
}

func floodLookups(ctx context.Context, a *attacker) {
	floodCalls(ctx, a, "nicknames", http.StatusOK, a.Limits.Lookups, time.Minute, func(int) call {
		return call{method: "GET", path: "/v1/games/demo/nicknames/" + rand.Text()[:12]}
	})
}

// tryCodes guesses the codes of arenas, over HTTP and over websockets. A hit is a
// violation: no client may have so many tries that a hit is likely.
func tryCodes(ctx context.Context, a *attacker) {
	var wrong atomic.Int64
	a.repeat(ctx, 16, 0, func(ctx context.Context, worker, _ int) {
		if worker%2 == 0 {
			code := randomCode()
			switch a.ask(ctx, worker, call{method: "GET", path: "/v1/games/demo/arenas/" + code}).status {
			case http.StatusOK:
				a.violation("the code %s was found over HTTP", code)
			case http.StatusNotFound:
				wrong.Add(1)
			}
			return
		}
		if s, err := a.greet(ctx, worker, a.token("code_attempt_"+rand.Text()[:8])); err == nil {
			for isOpen := true; isOpen; isOpen = isOpen && a.next(ctx) {
				isOpen = tryCode(ctx, a, s, &wrong)
			}
			_ = s.Close()
		}
	})
	a.checkGranted("wrong codes", wrong.Load(), a.Limits.Codes, time.Hour)
}

func randomCode() string {
	return fmt.Sprintf("%06d", mathrand.IntN(1_000_000)) //nolint:gosec // a guess is no secret
}

// tryCode tries to join with a code. It returns whether the connection is still usable.
func tryCode(ctx context.Context, a *attacker, s *players.Player, wrong *atomic.Int64) bool {
	code := randomCode()
	if _, err := s.Send(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code}); err != nil {
		return false
	}
	f, err := s.Read(callTimeout)
	switch {
	case f.Type == protocol.TypeArenaJoined:
		a.violation("the code %s was found over a websocket", code)
	case f.Type == protocol.TypeError && decodeError(f).Code == protocol.CodeNotFound:
		wrong.Add(1)
	}
	return a.noteFrame(ctx, f, err)
}
