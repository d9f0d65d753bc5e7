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

	"github.com/gorilla/websocket"

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
		encode(bitFinal|websocket.PingMessage, nil, -1), encode(bitFinal|websocket.PongMessage, nil, -1),
		textFrame(`{"id":2,"type":"ping","data":{"at":1}}`),
		textFrame(`{"id":3,"type":"answer","data":{"match":"m_none","question":0,"choice":0}}`),
		textFrame(`{"id":4,"type":"match.sync","data":{"match":"m_none","seq":0}}`),
		textFrame(`{"id":5,"type":"board.watch","data":{"window":"all"}}`),
		textFrame(`{"id":6,"type":"board.unwatch","data":{"window":"all"}}`),
		textFrame(`{"id":7,"type":"nothing","data":{}}`),
		textFrame(`{"id":8,"type":"ping","data":{"at":1,"more":2}}`),
	}
	run := rand.Text()[:6]
	a.repeat(ctx, 1+int(a.PerSecond/floodRate), 0, func(w *worker, _ int) {
		s := w.greet(a.token(fmt.Sprintf("bad_frames_%d_%s", w.number, run)))
		if s == nil {
			return
		}
		var reader sync.WaitGroup
		reader.Go(func() { w.readUntil(s, a.until.Add(time.Second)) })
		for i := 0; w.next(); i++ {
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
	a.repeat(ctx, 128, 0, func(w *worker, n int) {
		switch n % 4 {
		case 0:
			if conn := w.dial(); conn != nil {
				_ = conn.Close()
			}
		case 1:
			if s := w.open("https://evil.example"); s != nil {
				a.violation("the server accepted a page of another origin")
				_ = s.Close()
			}
		default:
			if s := w.open(""); s != nil {
				if n%4 == 2 {
					_ = send(s.NetConn(), textFrame(`{"id":1,"type":"hel`))
				}
				_ = s.Close()
			}
		}
	})
}

// floodHellos says hello with good and bad tokens, again and again.
func floodHellos(ctx context.Context, a *attacker) {
	good := a.token("bad_hello")
	a.repeat(ctx, 64, 0, func(w *worker, _ int) {
		token := good
		if w.number%2 == 0 {
			token = "eyJhbGciOiJIUzI1NiJ9." + rand.Text() + "." + rand.Text()
		}
		if s := w.greet(token); s != nil {
			a.violationIf(token != good, "the server welcomed a random token")
			_ = s.Close()
		}
	})
}

// floodCalls makes calls that the server limits per address and minute, and checks how many it
// granted.
func floodCalls(ctx context.Context, a *attacker, name string, limit int, newCall func(n int) players.Call) {
	var granted atomic.Int64
	a.repeat(ctx, 64, 0, func(w *worker, n int) {
		if w.ask(newCall(n)).Status/100 == 2 {
			granted.Add(1)
		}
	})
	a.checkGranted(name, granted.Load(), limit, time.Minute)
}

func floodGuests(ctx context.Context, a *attacker) {
	floodCalls(ctx, a, "guests", a.Limits.Guests, func(int) players.Call { return players.GuestCall(a.URL, "demo", "") })
}

// spoofAddresses makes guests, and each request claims to come from another address.
func spoofAddresses(ctx context.Context, a *attacker) {
	floodCalls(ctx, a, "guests", a.Limits.Guests, func(n int) players.Call {
		address, call := fmt.Sprintf("203.0.%d.%d", n/250%250, n%250), players.GuestCall(a.URL, "demo", "")
		call.Header = http.Header{
			"X-Forwarded-For": {address, "10.1.2.3, " + address}, "X-Real-Ip": {address}, "Forwarded": {"for=" + address},
			"Cf-Connecting-Ip": {address}, "True-Client-Ip": {address}, "X-Forwarded-Proto": {"https"},
		}
		return call
	})
}

func floodLookups(ctx context.Context, a *attacker) {
	floodCalls(ctx, a, "nicknames", a.Limits.Lookups, func(int) players.Call {
		return players.Call{URL: a.URL + "/v1/games/demo/nicknames/" + rand.Text()[:12]}
	})
}

// tryCodes guesses the codes of arenas, over HTTP and over websockets. A hit is a
// violation: no client may have so many tries that a hit is likely.
func tryCodes(ctx context.Context, a *attacker) {
	var wrong atomic.Int64
	a.repeat(ctx, 16, 0, func(w *worker, _ int) {
		if w.number%2 == 0 {
			code := randomCode()
			status := w.ask(players.Call{URL: a.URL + "/v1/games/demo/arenas/" + code}).Status
			a.violationIf(status == http.StatusOK, "the code %s was found over HTTP", code)
			if status == http.StatusNotFound {
				wrong.Add(1)
			}
			return
		}
		if s := w.greet(a.token("code_attempt_" + rand.Text()[:8])); s != nil {
			for w.tryCode(s, &wrong) {
				if !w.next() {
					break
				}
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
func (w *worker) tryCode(s *players.Player, wrong *atomic.Int64) bool {
	code := randomCode()
	if _, err := s.Send(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code}); err != nil {
		return false
	}
	f, err := s.Read(callTimeout)
	w.violationIf(f.Type == protocol.TypeArenaJoined, "the code %s was found over a websocket", code)
	if f.Type == protocol.TypeError && decodeError(f).Code == protocol.CodeNotFound {
		wrong.Add(1)
	}
	return w.noteFrame(f, err)
}
