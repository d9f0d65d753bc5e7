package ws

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

func perSecond(rate float64) func(*Config, *lobby.Duel) {
	return func(c *Config, _ *lobby.Duel) { c.PerSecond = rate }
}

// Beyond the bucket messages are refused; the third refusal closes, and is
// told as the others are. So is a fault of another kind: it costs as much.
func TestTooFast(t *testing.T) {
	t.Parallel()
	n := start(t, perSecond(0.001))
	c := n.enter("ada")
	c.alive() // the bucket holds one
	for range 4 {
		c.say(`{"id":5,"type":"nonsense"}`)
	}
	before, reason := c.closes(4429)
	if len(before) != 3 || reason == "" {
		t.Fatalf("%d replies before the close, reason %q", len(before), reason)
	}
	for _, f := range before {
		if e := c.refusal(f, protocol.CodeRateLimited); f.Re == nil || *f.Re != 5 || e.RetryAfterMS != 1_000_000 {
			t.Errorf("%s", f.raw)
		}
	}
}

// Pings and pongs cost as much. A ping beyond the bucket has no answer.
func TestControlFramesTooFast(t *testing.T) {
	t.Parallel()
	for kind, answers := range map[int]int{websocket.PingMessage: 1, websocket.PongMessage: 0} {
		n := start(t, perSecond(0.001))
		c := n.enter("ada")
		answered := 0
		c.conn.SetPongHandler(func(string) error { answered++; return nil })
		for range 4 {
			_ = c.conn.WriteControl(kind, nil, time.Now().Add(patience))
		}
		if before, reason := c.closes(4429); len(before) != 0 || reason == "" {
			t.Errorf("%d replies before the close, reason %q", len(before), reason)
		}
		if answered != answers {
			t.Errorf("%d answers to frames of type %d", answered, kind)
		}
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	n := start(t, perSecond(8))
	c := n.enter("ada")
	began := time.Now()
	for range 8 {
		c.alive()
	}
	limited := 0
	for !t.Failed() && limited == 0 && time.Since(began) < patience {
		c.ask(protocol.TypePing, map[string]any{"at": 1})
		f := c.next()
		if f.Type == protocol.TypeError {
			limited++
			if e := c.refusal(f, protocol.CodeRateLimited); e.RetryAfterMS != 125 {
				t.Errorf("retry after %d ms", e.RetryAfterMS)
			}
		}
	}
	if limited == 0 {
		t.Error("never limited")
	}
	se := n.session("ada")
	n.eventually("its loop waits", func() bool { return !se.out.busy() })
	bucket := se.pace
	n.eventually("the bucket refills", func() bool { return bucket.take(sinceStart(), 8, 1) })
	c.alive()
}

// The window of 10 s, by the session's own account.
func TestTooFastWindow(t *testing.T) {
	t.Parallel()
	n := start(t, perSecond(0.001))
	c := n.enter("ada")
	c.alive()
	se := n.session("ada")
	age := func(by time.Duration) { // between requests, when its loop waits
		c.Helper()
		for i := range se.pace.faults {
			se.pace.faults[i] -= by
		}
	}
	limited := func() {
		t.Helper()
		c.ask(protocol.TypePing, map[string]any{"at": 1})
		c.refused(protocol.CodeRateLimited)
		n.eventually("its loop waits", func() bool { return !se.out.busy() })
	}
	limited()
	age(6 * time.Second)
	limited()
	age(6 * time.Second) // the first is 12 s old
	limited()
	age(3 * time.Second) // the last two are 9 and 3 s old
	limited()
	c.closes(4429)
}

func (o *outbox) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holding || o.writing
}

func TestConnections(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Connections = 1 })
	first := n.enter("ada")
	for range 20 {
		c := n.dial()
		c.hello("eve", nil) // it must not drown the close frame
		before, reason := c.closes(1013)
		var told struct {
			RetryAfterMS int64 `json:"retry_after_ms"`
		}
		if err := json.Unmarshal([]byte(reason), &told); err != nil || told.RetryAfterMS <= 0 || len(before) > 0 {
			t.Fatalf("reason %q, frames %v before", reason, before)
		}
	}
	first.alive()
	first.cut()
	n.eventually("there is room again", func() bool { return len(n.all()) == 0 })
	n.enter("eve").alive()
}

// Connections that are turned away hold no request, and are so many at once at
// the most; more are cut off.
func TestTurnedAway(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Connections = 0 })
	n.away.most = 2
	returned := make(chan struct{}, 3)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.ServeHTTP(w, r)
		returned <- struct{}{}
	}))
	defer site.Close()
	n.url = "ws" + site.URL[len("http"):]
	told := []*client{n.dial(), n.dial()}
	<-returned // while both wait to be closed
	<-returned
	if away := n.away.running.Load(); away != 2 {
		t.Errorf("%d are being turned away", away)
	}
	cut := n.dial()
	if _, err := cut.read(); err == nil || websocket.IsCloseError(err, 1013) {
		t.Errorf("the third was told: %v", err)
	}
	<-returned
	if n.closed("cut") != 1 || n.closed("1013") != 2 {
		t.Errorf("closed: %v", n.labels("closes_total"))
	}
	for _, c := range told {
		c.closes(1013)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Origins = []string{"https://play.example.com"} })
	here := "http" + n.url[len("ws"):]
	for origin, want := range map[string]int{
		here:                              http.StatusSwitchingProtocols,
		"https://play.example.com":        http.StatusSwitchingProtocols,
		"http://play.example.com":         http.StatusForbidden,
		"https://play.example.com:444":    http.StatusForbidden,
		"https://evil.example.com":        http.StatusForbidden,
		here + ".example.com":             http.StatusForbidden,
		"null":                            http.StatusForbidden,
		"://":                             http.StatusForbidden,
		"https://play.example.com.evil.x": http.StatusForbidden,
	} {
		if got := n.upgrade(origin); got != want {
			t.Errorf("origin %q: %d, want %d", origin, got, want)
		}
	}
	// Behind a proxy that speaks TLS, as it says, a page without is another's.
	n = start(t, func(c *Config, _ *lobby.Duel) { c.Secure = func(*http.Request) bool { return true } })
	host := n.url[len("ws"):]
	for origin, want := range map[string]int{"https" + host: http.StatusSwitchingProtocols, "http" + host: http.StatusForbidden} {
		if got := n.upgrade(origin); got != want {
			t.Errorf("over TLS to a proxy, origin %q: %d, want %d", origin, got, want)
		}
	}
	if got := n.labels("refusals_total"); len(got) != 1 || got[0] != "upgrade" {
		t.Errorf("refused: %v", got)
	}
}

// What cannot become a websocket is refused in the form of the HTTP contract.
func TestNoUpgrade(t *testing.T) {
	t.Parallel()
	n := start(t)
	answer, err := http.Get("http" + n.url[len("ws"):])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var problem struct {
		Status int
		Code   protocol.Code
	}
	if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusBadRequest || problem.Status != http.StatusBadRequest || problem.Code != protocol.CodeBadRequest ||
		answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s, %+v", answer.Status, problem)
	}
}
