package ws

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/httpserver"
	"laststand/internal/lobby"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

func withMessagesPerSecond(rate float64) func(*Config, *lobby.DuelSettings) {
	return func(c *Config, _ *lobby.DuelSettings) { c.MessagesPerSecond = rate }
}

// A message without a token in the bucket is refused, and the third refusal closes the session.
// Faulty messages take tokens too.
func TestTooManyMessagesCloseTheSession(t *testing.T) {
	n := startParallel(t, withMessagesPerSecond(0.001))
	c := n.connectPlayer("ada")
	c.expectPong() // the bucket has one token
	for range 4 {
		c.send(`{"id":5,"type":"nonsense"}`)
	}
	replies, reason := c.expectClose(4429)
	if len(replies) != 3 || reason == "" {
		t.Fatalf("%d replies before the close, reason %q", len(replies), reason)
	}
	for _, f := range replies {
		if e := c.checkError(f, protocol.CodeRateLimited); f.Re == nil || *f.Re != 5 || e.RetryAfterMS != 1_000_000 {
			t.Errorf("%s", f.raw)
		}
	}
}

// Pings and pongs take a token each. A ping without a token gets no pong.
func TestTooManyControlFramesCloseTheSession(t *testing.T) {
	t.Parallel()
	for kind, wantPongs := range map[int]int{websocket.PingMessage: 1, websocket.PongMessage: 0} {
		n := startNode(t, withMessagesPerSecond(0.001))
		c := n.connectPlayer("ada")
		pongs := 0
		c.conn.SetPongHandler(func(string) error { pongs++; return nil })
		for range 4 {
			_ = c.conn.WriteControl(kind, nil, time.Now().Add(clientTimeout))
		}
		if frames, reason := c.expectClose(4429); len(frames) != 0 || reason == "" {
			t.Errorf("%d replies before the close, reason %q", len(frames), reason)
		}
		if pongs != wantPongs {
			t.Errorf("%d answers to frames of type %d", pongs, kind)
		}
	}
}

func TestMessageLimiterRefillsLikeTokenBucket(t *testing.T) {
	n := startParallel(t, withMessagesPerSecond(8))
	c := n.connectPlayer("ada")
	startedAt := time.Now()
	for range 8 {
		c.expectPong()
	}
	limited := 0
	for !t.Failed() && limited == 0 && time.Since(startedAt) < clientTimeout {
		c.sendRequest(protocol.TypePing, map[string]any{"at": 1})
		f := c.nextFrame()
		if f.Type == protocol.TypeError {
			limited++
			if e := c.checkError(f, protocol.CodeRateLimited); e.RetryAfterMS != 125 {
				t.Errorf("retry after %d ms", e.RetryAfterMS)
			}
		}
	}
	if limited == 0 {
		t.Error("no message was refused")
	}
	se := n.session("ada")
	n.eventually("the read loop waits", func() bool { return !se.outbox.isBusy() })
	n.eventually("the bucket refills", func() bool {
		return se.requests.limiter.bucket.Missing(timer.SinceStart(), se.services.messages) < 8
	})
	c.expectPong()
}

// The third refusal closes only if the first was less than 10 s ago.
func TestTheThirdRefusalWithinTheWindowCloses(t *testing.T) {
	n := startParallel(t, withMessagesPerSecond(0.001))
	c := n.connectPlayer("ada")
	c.expectPong()
	se := n.session("ada")
	ageRefusals := func(age time.Duration) { // called between requests, while the read loop waits
		c.Helper()
		for i := range se.requests.limiter.refusedAt {
			se.requests.limiter.refusedAt[i] -= age
		}
	}
	expectLimited := func() {
		t.Helper()
		c.requestRefused(protocol.TypePing, map[string]any{"at": 1}, protocol.CodeRateLimited)
		n.eventually("the read loop waits", func() bool { return !se.outbox.isBusy() })
	}
	expectLimited()
	ageRefusals(6 * time.Second)
	expectLimited()
	ageRefusals(6 * time.Second) // the first is 12 s old
	expectLimited()
	ageRefusals(3 * time.Second) // the last two are 9 and 3 s old
	expectLimited()
	c.expectClose(4429)
}

func (o *outbox) isBusy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.isHolding || o.hasWriter
}

func TestConnectionsAreLimited(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections = 1 })
	first := n.connectPlayer("ada")
	for range 20 {
		c := n.dial()
		c.sendHello("eve", nil) // the unread hello must not prevent the close frame
		c.expectRetryLater()
	}
	first.expectPong()
	first.disconnect()
	n.eventually("the place is free again", func() bool { return len(n.openSessions()) == 0 })
	n.connectPlayer("eve").expectPong()
}

// A rejected connection keeps no request in memory. Above the limit of rejections the
// connection is closed without a frame.
func TestRejectionsAreLimited(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections = 0 })
	_ = n.rejecting.Acquire(t.Context(), maxRejecting-2)
	defer n.rejecting.Release(maxRejecting - 2)
	returned := make(chan struct{}, 3)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.ServeHTTP(w, r)
		returned <- struct{}{}
	}))
	defer site.Close()
	n.url = "ws" + site.URL[len("http"):]
	rejected := []*client{n.dial(), n.dial()}
	<-returned // while both wait to be closed
	<-returned
	third := n.dial()
	if _, err := third.read(); err == nil || websocket.IsCloseError(err, 1013) {
		t.Errorf("the third connection got: %v", err)
	}
	<-returned
	if n.closedCount("cut") != 1 || n.closedCount("1013") != 2 {
		t.Errorf("closed: %v", n.labelValues("closes_total"))
	}
	for _, c := range rejected {
		c.expectClose(1013)
	}
}

func TestOnlyAllowedOriginsAreUpgraded(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) {
		c.IsOriginAllowed = httpserver.NewOrigins([]string{"https://play.example.com"}, func(*http.Request) bool { return false }).Allow
	})
	ownOrigin := "http" + n.url[len("ws"):]
	for origin, want := range map[string]int{
		ownOrigin:                         http.StatusSwitchingProtocols,
		"https://play.example.com":        http.StatusSwitchingProtocols,
		"http://play.example.com":         http.StatusForbidden,
		"https://play.example.com:444":    http.StatusForbidden,
		"https://evil.example.com":        http.StatusForbidden,
		ownOrigin + ".example.com":        http.StatusForbidden,
		"null":                            http.StatusForbidden,
		"://":                             http.StatusForbidden,
		"https://play.example.com.evil.x": http.StatusForbidden,
	} {
		if got := n.upgrade(origin); got != want {
			t.Errorf("origin %q: %d, want %d", origin, got, want)
		}
	}
	// Behind a proxy that uses TLS, an http origin is another site's.
	n = startNode(t, func(c *Config, _ *lobby.DuelSettings) {
		c.IsOriginAllowed = httpserver.NewOrigins(nil, func(*http.Request) bool { return true }).Allow
	})
	host := n.url[len("ws"):]
	for origin, want := range map[string]int{"https" + host: http.StatusSwitchingProtocols, "http" + host: http.StatusForbidden} {
		if got := n.upgrade(origin); got != want {
			t.Errorf("behind a TLS proxy, origin %q: %d, want %d", origin, got, want)
		}
	}
	if got := n.labelValues("refusals_total"); len(got) != 1 || got[0] != "upgrade" {
		t.Errorf("refused: %v", got)
	}
}

// A request that cannot be upgraded gets a problem document.
func TestRequestWithoutUpgradeGetsProblem(t *testing.T) {
	n := startParallel(t)
	response, err := http.Get("http" + n.url[len("ws"):])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var problem struct {
		Status int
		Code   protocol.Code
	}
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusBadRequest || problem.Status != http.StatusBadRequest || problem.Code != protocol.CodeBadRequest ||
		response.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s, %+v", response.Status, problem)
	}
}
