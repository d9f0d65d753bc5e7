package ws

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/lobby"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// addressFromHeader makes the server read a client's address from the header At;
// without it the address is invalid.
func addressFromHeader(c *Config, _ *lobby.DuelSettings) {
	c.ClientAddress = func(r *http.Request) netip.Addr {
		address, _ := netip.ParseAddr(r.Header.Get("At"))
		return address
	}
}

// remoteAddress returns the peer's address of a request's connection.
func remoteAddress(r *http.Request) netip.Addr {
	addrPort, _ := netip.ParseAddrPort(r.RemoteAddr)
	return addrPort.Addr()
}

// dialFrom connects from an address and sends nothing.
func (n *node) dialFrom(address string) *client {
	n.Helper()
	return n.dialWith(http.Header{"At": {address}})
}

// expectRetryLater reads to a close frame with a retry time, and returns the time.
func (c *client) expectRetryLater() (ms int64) {
	c.Helper()
	frames, reason := c.expectClose(protocol.CloseOverloaded)
	var reported struct {
		RetryAfterMS int64 `json:"retry_after_ms"`
	}
	if err := json.Unmarshal([]byte(reason), &reported); err != nil || reported.RetryAfterMS <= 0 || len(frames) > 0 {
		c.failNow("reason %q, frames %v before", reason, frames)
	}
	return reported.RetryAfterMS
}

// sendHelloExpectWelcome sends a hello and reads the welcome.
func (c *client) sendHelloExpectWelcome(player string) *client {
	c.Helper()
	c.sendHello(player, nil)
	c.expectReply(protocol.TypeWelcome)
	return c
}

// An address may have PerAddress websockets, and an IPv6 network of 64 bits counts as one
// address. Other addresses are not affected. When a websocket ends, its place is free.
func TestConnectionsPerAddressAreLimited(t *testing.T) {
	n := startParallel(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) { c.Limits.PerAddress = 2 })
	for name, addresses := range map[string][4]string{
		"four": {"198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.2"},
		"six":  {"2a00:1:2:3::1", "2a00:1:2:3::2", "2a00:1:2:3:4::1", "2a00:1:2:4::1"},
	} {
		first := n.dialFrom(addresses[0]).sendHelloExpectWelcome(name + "a")
		n.connectSilent(addresses[1], 1) // a silent connection counts, too
		n.dialFrom(addresses[2]).expectRetryLater()
		n.dialFrom(addresses[3]).sendHelloExpectWelcome(name + "d").expectPong()
		first.expectPong()
		first.disconnect()
		n.eventually("the first session has ended", func() bool { return n.session(name+"a") == nil })
		n.dialFrom(addresses[2]).sendHelloExpectWelcome(name + "c").expectPong()
	}
}

// Hellos are limited per address and per node. Hellos of players who are in a match have
// their own bucket. If a resume names a match that the player is not in, it counts as a new
// hello, with any token.
func TestHellosAreLimited(t *testing.T) {
	t.Parallel()
	rules := overload.NewLimiter(overload.LimiterConfig{})
	hourly := func(name string, limitPerHour int) *overload.Rule {
		return rules.NewRule(overload.RuleConfig{Name: name, Subject: "hellos", Limit: limitPerHour, Per: time.Hour})
	}
	t.Run("per address", func(t *testing.T) {
		n := startParallel(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) { c.Limits.Hellos = hourly("hellos_per_address", 2) })
		n.dialFrom("198.51.100.1").sendHelloExpectWelcome("ada")
		c := n.dialFrom("198.51.100.1")
		c.sendRequest(protocol.TypeHello, protocol.Hello{Token: "forged"}) // a forged hello takes a token, too
		c.expectClose(protocol.CloseUnauthorized)
		third := n.dialFrom("198.51.100.1")
		third.sendHello("eve", nil)
		if ms := third.expectRetryLater(); ms < 20*60_000 || ms > 31*60_000 {
			t.Errorf("retry after %d ms", ms)
		}
		n.dialFrom("198.51.100.2").sendHelloExpectWelcome("eve").expectPong()
	})
	t.Run("per node", func(t *testing.T) {
		n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.Limits.HellosPerNode = hourly("hellos", 2) })
		playerA, playerB := n.startDuel("d")
		resume := &protocol.Resume{Match: playerA.expectFrame(protocol.TypeMatchFound).Match}
		playerB.expectFrame(protocol.TypeMatchFound)
		for range 3 {
			for player, sentResume := range map[string]*protocol.Resume{"eve": nil, "outsider": resume} {
				c := n.dialAndGreet(player, sentResume)
				c.expectRetryLater()
			}
			c := n.dial()
			c.sendRequest(protocol.TypeHello, protocol.Hello{Token: "forged", Resume: resume})
			c.expectClose(protocol.CloseUnauthorized)
		}
		for _, player := range []string{"d.a", "d.b"} {
			c := n.dialAndGreet(player, resume)
			c.expectReply(protocol.TypeWelcome)
			c.expectReply(protocol.TypeMatchState)
		}
		c := n.dialAndGreet("d.a", resume)
		c.expectRetryLater()
	})
	t.Run("forged hellos use the tokens of new ones", func(t *testing.T) {
		n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.Limits.HellosPerNode = hourly("hellos_and_forged_ones", 2) })
		for range 4 { // they take the available tokens and leave no debt
			c := n.dial()
			c.sendRequest(protocol.TypeHello, protocol.Hello{Token: "forged", Resume: &protocol.Resume{Match: "m_1"}})
			c.expectClose(protocol.CloseUnauthorized)
		}
		c := n.dialAndGreet("eve", nil)
		if ms := c.expectRetryLater(); ms < 20*60_000 || ms > 31*60_000 {
			t.Errorf("retry after %d ms", ms)
		}
	})
}

// A wrong code takes a token of the address, whichever player sends it; a right code takes
// none. When the bucket is empty, the server tries only codes that were right for the
// address before.
func TestWrongArenaCodesAreLimited(t *testing.T) {
	t.Parallel()
	codes := overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "codes", Subject: "wrong codes", Limit: 2, Per: time.Hour})
	n := startNode(t, addressFromHeader, func(c *Config, _ *lobby.DuelSettings) {
		c.Limits.CodeAttempts = overload.NewFailureLimiter(overload.FailureLimiter{PerAddress: codes})
	})
	clientA, clientB := n.dialFrom("198.51.100.1").sendHelloExpectWelcome("ada"), n.dialFrom("198.51.100.1").sendHelloExpectWelcome("bob")
	code := "123456"
	joinExpect := func(c *client, want string) frame {
		c.Helper()
		c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code})
		return c.expectReply(want)
	}
	for range 3 {
		joinExpect(clientA, protocol.TypeArenaJoined)
	}
	n.arenas.setResult(func(context.Context) error { return protocol.Errorf(protocol.CodeNotFound, "there is no such arena") })
	code = "654321"
	for _, c := range []*client{clientA, clientB} {
		c.checkError(joinExpect(c, protocol.TypeError), protocol.CodeNotFound)
	}
	n.arenas.takeCalls()
	for _, c := range []*client{clientA, clientB} {
		if e := c.checkError(joinExpect(c, protocol.TypeError), protocol.CodeRateLimited); e.RetryAfterMS < 1000 {
			t.Errorf("%+v", e)
		}
	}
	if calls := n.arenas.takeCalls(); len(calls) != 0 {
		t.Errorf("codes were tried above the limit: %v", calls)
	}
	other := n.dialFrom("198.51.100.2").sendHelloExpectWelcome("eve")
	other.checkError(joinExpect(other, protocol.TypeError), protocol.CodeNotFound)
	n.arenas.setResult(nil)
	code = "123456"
	joinExpect(clientB, protocol.TypeArenaJoined)
}

// A rule in dry run counts refusals and refuses nothing.
func TestLimitsInDryRunRefuseNothing(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	rules := overload.NewLimiter(overload.LimiterConfig{IsDryRun: func(string) bool { return true }, Registry: registry})
	n := startNode(t, withMessagesPerSecond(0.001), func(c *Config, _ *lobby.DuelSettings) {
		c.MaxConnections = 0
		c.Limits = Limits{
			PlacesConfig: overload.PlacesConfig{
				PerAddress: 1, TotalCap: rules.NewCap("connections"), AddressCap: rules.NewCap("connections_per_address"), PendingCap: rules.NewCap("hello_missing"),
			},
			MessageCap: rules.NewCap("messages_per_second"),
			Hellos:     rules.NewRule(overload.RuleConfig{Name: "hellos_per_address", Limit: 1, Per: time.Hour}),
		}
	})
	n.connectPlayer("ada").expectPong()
	c := n.connectPlayer("eve")
	for range 5 {
		c.expectPong()
	}
	for rule, want := range map[string]float64{"connections": 4, "connections_per_address": 1, "hellos_per_address": 1, "messages_per_second": 4} {
		if got := refusalCount(t, registry, "dry_run_refusals", rule); got != want {
			t.Errorf("%s would have refused %v, want %v", rule, got, want)
		}
	}
}

// refusalCount returns how often a rule has refused or would have refused; -1 if the rule
// has no metric.
func refusalCount(t *testing.T, registry *prometheus.Registry, outcome, rule string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "laststand_limit_"+outcome+"_total" && metric.GetLabel()[0].GetValue() == rule {
				return metric.GetCounter().GetValue()
			}
		}
	}
	return -1
}

// Each message takes its tokens from the bucket, even if it is refused for another
// reason.
func TestMessageTypesCostDifferentTokens(t *testing.T) {
	n := startParallel(t, withMessagesPerSecond(6))
	for kind, want := range map[string]float64{
		protocol.TypePing: 1, protocol.TypeAnswer: 1, "nonsense": 1, protocol.TypeArenaLeave: 1, protocol.TypeBoardUnwatch: 1,
		protocol.TypeDuelJoin: 2, protocol.TypeMatchSync: 2, protocol.TypeArenaJoin: 3, protocol.TypeBoardWatch: 3,
	} {
		c := n.connectPlayer("costs " + kind)
		se := n.session("costs " + kind)
		before := timer.SinceStart()
		c.sendRequest(kind, map[string]any{"at": "x"})
		c.readUntilReply()
		n.eventually("the read loop waits", func() bool { return !se.outbox.isBusy() })
		missing := func(now time.Duration) float64 { // tokens
			return 6 * se.requests.limiter.bucket.Wait(now, se.services.messages, 6).Seconds()
		}
		if least, most := missing(timer.SinceStart()), missing(before); want < least-0.01 || want > most+0.01 {
			t.Errorf("%s costs %v to %v tokens, want %v", kind, least, most, want)
		}
	}
	c := startNode(t, withMessagesPerSecond(0.001)).connectPlayer("poor")
	c.request(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}, protocol.TypeBoardOK) // a full bucket is enough for any message
	c.sendRequest(protocol.TypePing, map[string]any{"at": 1})
	c.checkError(c.readUntilReply(), protocol.CodeRateLimited)
}

// fakeShedder is a LoadShedder that sheds the kinds that a test sets.
type fakeShedder struct {
	fakeDuelLimit

	mu   sync.Mutex
	shed map[overload.Kind]bool
}

func (s *fakeShedder) setShed(kinds ...overload.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shed = map[overload.Kind]bool{}
	for _, kind := range kinds {
		s.shed[kind] = true
	}
}

func (s *fakeShedder) ShouldShed(kind overload.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shed[kind]
}

func (s *fakeShedder) Check(kind overload.Kind) error {
	if !s.ShouldShed(kind) {
		return nil
	}
	return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
}

func withShedder(shedder *fakeShedder) func(*Config, *lobby.DuelSettings) {
	return func(c *Config, _ *lobby.DuelSettings) { c.LoadShedder = shedder }
}

// On an overloaded node players in a match are still admitted, and hosts too. The lobby
// decides who is in a match, not the client.
func TestPlayersInMatchAreAdmittedUnderLoad(t *testing.T) {
	t.Parallel()
	var shedder fakeShedder
	n := startNode(t, withShedder(&shedder))
	playerA, _, matchID := n.startFoundDuel()
	shedder.setShed(overload.Reading, overload.Watching, overload.NewGuests, overload.NewSessions, overload.Joining)
	playerA.disconnect()
	resumed, welcome := n.connectAndResume("d.a", &protocol.Resume{Match: matchID})
	if welcome.Playing == nil || welcome.Playing.Match != matchID {
		t.Errorf("welcome %+v", welcome)
	}
	resumed.expectReply(protocol.TypeMatchState)
	for name, resume := range map[string]*protocol.Resume{"eve": nil, "outsider": {Match: matchID, Seq: 1}} {
		c := n.dialAndGreet(name, resume)
		if ms := c.expectRetryLater(); ms != 4000 {
			t.Errorf("%s: retry after %d ms", name, ms)
		}
	}
	n.connectHost("host")
	shedder.setShed()
	n.connectPlayer("eve").expectPong()
}

// refusingShedder is a LoadShedder that refuses everything with a retry time of 1 ms.
type refusingShedder struct{ fakeShedder }

func (*refusingShedder) ShouldShed(overload.Kind) bool { return true }
func (*refusingShedder) Check(overload.Kind) error {
	return protocol.RetryAfter(protocol.CodeOverloaded, 1, "retry soon")
}

// The retry time of a rejected hello is random and at least retryMS. If it were the time of
// the next token, thousands of waiting clients would retry at the same time.
func TestRejectedHellosRetryLater(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.LoadShedder = &refusingShedder{} })
	retryTimes := map[int64]bool{}
	for i := range 8 {
		c := n.dialAndGreet(fmt.Sprint("p", i), nil)
		ms := c.expectRetryLater()
		if retryTimes[ms] = true; ms < retryMS || ms >= 2*retryMS {
			t.Errorf("retry after %d ms", ms)
		}
	}
	if len(retryTimes) == 1 {
		t.Errorf("all get the same retry time: %v", retryTimes)
	}
}

// The last places are for players in a match.
func TestLastPlacesAreForPlayersInMatch(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.MaxConnections = reservedShare })
	playerA, _, _ := n.startFoundDuel()
	playerA.disconnect()
	n.eventually("the disconnected player's place is free", func() bool { return len(n.openSessions()) == 1 })
	for i := range reservedShare - 2 {
		n.connectPlayer(fmt.Sprint("p", i))
	}
	late := n.dialAndGreet("late", nil)
	late.expectRetryLater()
	n.eventually("the refused session's place is free", func() bool { return len(n.openSessions()) == reservedShare-1 })
	n.connectPlayer("d.a")
	n.dial().expectRetryLater() // now the node is full
}

// An overloaded node refuses requests of greeted sessions by kind.
func TestOverloadedNodeRefusesRequestsByKind(t *testing.T) {
	t.Parallel()
	var shedder fakeShedder
	n := startNode(t, withShedder(&shedder))
	c := n.connectPlayer("ada")
	watch := func() { c.sendRequest(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}) }
	duel := func() { c.sendRequest(protocol.TypeDuelJoin, map[string]any{}) }
	join := func(as string) func() {
		return func() { c.sendRequest(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: as}) }
	}
	for _, test := range []struct {
		name        string
		sendRequest func()
		shedKinds   []overload.Kind
		wantReply   string // type of the reply; "" for the error overloaded
	}{
		{"a board", watch, []overload.Kind{overload.Watching}, ""},
		{"a spectator", join("spectator"), []overload.Kind{overload.Watching}, ""},
		{"a player while only watching is refused", join("player"), []overload.Kind{overload.Watching}, protocol.TypeArenaJoined},
		{"a player", join(""), []overload.Kind{overload.Joining}, ""},
		{"the host", join("host"), []overload.Kind{overload.Watching, overload.Joining}, protocol.TypeArenaJoined},
		{"a duel", duel, []overload.Kind{overload.Joining}, ""},
		{"a board without overload", watch, nil, protocol.TypeBoardOK},
		{"a duel while only watching is refused", duel, []overload.Kind{overload.Watching}, protocol.TypeDuelQueued},
	} {
		shedder.setShed(test.shedKinds...)
		test.sendRequest()
		if test.wantReply != "" {
			if f := c.readUntilReply(); f.Type != test.wantReply {
				t.Errorf("%s: %s", test.name, f.raw)
			}
			continue
		}
		if e := c.checkError(c.readUntilReply(), protocol.CodeOverloaded); e.RetryAfterMS != 4000 {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
}

// A message that has started must end within messageTimeout. Otherwise the server closes the
// session, wherever the message stops.
func TestSlowMessageClosesSession(t *testing.T) {
	n := startParallel(t)
	n.parker.MessageTimeout = 100 * time.Millisecond
	completeFrame := maskedFrame(0x81, `{"id":1,"type":"ping","data":{"at":1}}`)
	for name, sent := range map[string][]byte{
		"half a frame header":           {0x81},
		"half a payload":                completeFrame[:20],
		"one of two fragments":          maskedFrame(0x01, `{"id":1,`),
		"half a header after a message": append(slices.Clone(completeFrame), 0x81),
		"a header after a message":      append(slices.Clone(completeFrame), maskedFrame(0x81, "{}")[:6]...),
		"half a pong after a message":   append(slices.Clone(completeFrame), maskedFrame(0x8a, "p")[:6]...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := n.connectPlayer(name)
			if _, err := c.conn.NetConn().Write(sent); err != nil {
				t.Fatal(err)
			}
			if _, reason := c.expectClose(protocol.CloseSilent); reason == "" {
				t.Error("no reason")
			}
		})
	}
	t.Run("pongs between fragments", func(t *testing.T) {
		t.Parallel()
		c := n.connectPlayer("parts")
		done := make(chan struct{})
		defer func() { <-done }()
		go func() {
			defer close(done)
			_, err := c.conn.NetConn().Write(maskedFrame(0x01, `{"id":1,`))
			for ; err == nil; time.Sleep(10 * time.Millisecond) { // as a slow attacker sends them
				_, err = c.conn.NetConn().Write(maskedFrame(0x8a, ""))
			}
		}()
		defer c.disconnect()
		if _, err := c.read(); !websocket.IsCloseError(err, protocol.CloseSilent) {
			t.Errorf("not closed: %v", err)
		}
	})
}

// The server closes a session that sends an invalid frame, and counts it under that
// code.
func TestInvalidFrameClosesSession(t *testing.T) {
	n := startParallel(t)
	invalidFrames := map[string][]byte{
		"unmasked": {0x81, 0x02, '{', '}'}, "compressed": {0xc1, 0x80, 0, 0, 0, 0}, "unknown kind": {0x83, 0x80, 0, 0, 0, 0},
		"continuation of no message": {0x80, 0x80, 0, 0, 0, 0}, "fragmented ping": {0x09, 0x80, 0, 0, 0, 0},
	}
	for name, sent := range invalidFrames {
		c := n.connectPlayer(strings.ReplaceAll(name, " ", "_"))
		if _, err := c.conn.NetConn().Write(sent); err != nil {
			t.Fatal(err)
		}
		if _, err := c.read(); !websocket.IsCloseError(err, websocket.CloseProtocolError) {
			t.Errorf("%s: %v", name, err)
		}
		c.disconnect()
	}
	n.eventually("the closes are counted", func() bool { return n.closedCount("1002") == float64(len(invalidFrames)) })
	if n.closedCount("gone") != 0 {
		t.Errorf("closed: %v", n.labelValues("closes_total"))
	}
}

// A client that only answers pings has started no message, so no message deadline
// applies.
func TestControlFramesStartNoMessageDeadline(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.PingInterval = 400 * time.Millisecond })
	n.parker.MessageTimeout = 20 * time.Millisecond
	c := n.connectPlayer("ada")
	answerPing, pings := c.conn.PingHandler(), 0
	c.conn.SetPingHandler(func(data string) error {
		if pings++; pings == 3 {
			c.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
		}
		return answerPing(data)
	})
	c.readUntil(protocol.TypeDuelLeft)
}
