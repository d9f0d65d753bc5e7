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

	"laststand/internal/identity"
	"laststand/internal/limit"
	"laststand/internal/lobby"
	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

// addressed has clients say where they are from; who does not is from nowhere.
func addressed(c *Config, _ *lobby.Duel) {
	c.Address = func(r *http.Request) netip.Addr {
		at, _ := netip.ParseAddr(r.Header.Get("At"))
		return at
	}
}

// dialFrom connects from an address, without a word.
func (n *node) dialFrom(address string) *client {
	n.Helper()
	conn, response, err := dialer.Dial(n.url, http.Header{"At": {address}})
	if err != nil {
		n.Fatal(err)
	}
	_ = response.Body.Close()
	n.Cleanup(func() { _ = conn.Close() })
	return &client{T: n.T, conn: conn}
}

// comesAgain reads to the close that says when to come again, and gives that.
func (c *client) comesAgain() (ms int64) {
	c.Helper()
	before, reason := c.closes(protocol.CloseOverloaded)
	var told struct {
		RetryAfterMS int64 `json:"retry_after_ms"`
	}
	if err := json.Unmarshal([]byte(reason), &told); err != nil || told.RetryAfterMS <= 0 || len(before) > 0 {
		c.fail("reason %q, frames %v before", reason, before)
	}
	return told.RetryAfterMS
}

// welcomed says hello and is let in.
func (c *client) welcomed(player string) *client {
	c.Helper()
	c.hello(player, nil)
	c.reply(protocol.TypeWelcome)
	return c
}

// One address has so many websockets; an IPv6 network is one. Others are not hurt,
// and there is room when one ends.
func TestConnectionsOfAnAddress(t *testing.T) {
	t.Parallel()
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) { c.Limits.PerAddress = 2 })
	for name, at := range map[string][4]string{
		"four": {"198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.2"},
		"six":  {"2a00:1:2:3::1", "2a00:1:2:3::2", "2a00:1:2:3:4::1", "2a00:1:2:4::1"},
	} {
		first := n.dialFrom(at[0]).welcomed(name + "a")
		n.mute(at[1], 1) // counts too
		n.dialFrom(at[2]).comesAgain()
		n.dialFrom(at[3]).welcomed(name + "d").alive()
		first.alive()
		first.cut()
		n.eventually("the first is gone", func() bool { return n.session(name+"a") == nil })
		n.dialFrom(at[2]).welcomed(name + "c").alive()
	}
	n.eventually("all are counted", func() bool {
		n.Server.mu.Lock()
		defer n.Server.mu.Unlock()
		return len(n.each) == 4
	})
}

// Hellos are limited by address and in all; those of players who come back to a
// match are counted beside the others, and nobody else's are: not what only says so,
// by whatever token.
func TestHelloRate(t *testing.T) {
	t.Parallel()
	rules := limit.New(limit.Config{})
	hourly := func(name string, most int) *limit.Rule {
		return rules.Rule(limit.Terms{Name: name, What: "hellos", Most: most, Per: time.Hour})
	}
	t.Run("of an address", func(t *testing.T) {
		t.Parallel()
		n := start(t, addressed, func(c *Config, _ *lobby.Duel) { c.Limits.Hellos = hourly("hellos_per_address", 2) })
		n.dialFrom("198.51.100.1").welcomed("ada")
		c := n.dialFrom("198.51.100.1")
		c.ask(protocol.TypeHello, protocol.Hello{Token: "forged"}) // it costs as much
		c.closes(protocol.CloseUnauthorized)
		late := n.dialFrom("198.51.100.1")
		late.hello("eve", nil)
		if ms := late.comesAgain(); ms < 20*60_000 || ms > 31*60_000 {
			t.Errorf("come again in %d ms", ms)
		}
		n.dialFrom("198.51.100.2").welcomed("eve").alive()
	})
	t.Run("in all", func(t *testing.T) {
		t.Parallel()
		n := start(t, func(c *Config, _ *lobby.Duel) { c.Limits.HellosInAll = hourly("hellos", 2) })
		a, b := n.duel("d")
		from := &protocol.Resume{Match: a.expect(protocol.TypeMatchFound).Match}
		b.expect(protocol.TypeMatchFound)
		for range 3 {
			for player, resume := range map[string]*protocol.Resume{"eve": nil, "liar": from} {
				c := n.dial()
				c.hello(player, resume)
				c.comesAgain()
			}
			c := n.dial()
			c.ask(protocol.TypeHello, protocol.Hello{Token: "forged", Resume: from})
			c.closes(protocol.CloseUnauthorized)
		}
		for _, player := range []string{"d.a", "d.b"} {
			c := n.dial()
			c.hello(player, from)
			c.reply(protocol.TypeWelcome)
			c.reply(protocol.TypeMatchState)
		}
		c := n.dial()
		c.hello("d.a", from)
		c.comesAgain()
	})
	t.Run("forged ones beside newcomers", func(t *testing.T) {
		t.Parallel()
		n := start(t, func(c *Config, _ *lobby.Duel) { c.Limits.HellosInAll = hourly("hellos_and_forged_ones", 2) })
		for range 4 { // those beyond what there is are owed by nobody
			c := n.dial()
			c.ask(protocol.TypeHello, protocol.Hello{Token: "forged", Resume: &protocol.Resume{Match: "m_1"}})
			c.closes(protocol.CloseUnauthorized)
		}
		c := n.dial()
		c.hello("eve", nil)
		if ms := c.comesAgain(); ms < 20*60_000 || ms > 31*60_000 {
			t.Errorf("come again in %d ms", ms)
		}
	})
}

// Wrong codes are charged to the address, whoever tries them; right ones are not.
// With none left nothing is tried but what was right there.
func TestWrongCodes(t *testing.T) {
	t.Parallel()
	codes := limit.New(limit.Config{}).Rule(limit.Terms{Name: "codes", What: "wrong codes", Most: 2, Per: time.Hour})
	n := start(t, addressed, func(c *Config, _ *lobby.Duel) { c.Limits.Codes = &limit.Guesses{Wrong: codes} })
	a, b := n.dialFrom("198.51.100.1").welcomed("ada"), n.dialFrom("198.51.100.1").welcomed("bob")
	code := "123456"
	join := func(c *client, want string) frame {
		c.Helper()
		c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code})
		return c.reply(want)
	}
	for range 3 {
		join(a, protocol.TypeArenaJoined)
	}
	n.arenas.set(func(context.Context) error { return protocol.Errorf(protocol.CodeNotFound, "there is no such arena") })
	code = "654321"
	for _, c := range []*client{a, b} {
		c.refusal(join(c, protocol.TypeError), protocol.CodeNotFound)
	}
	n.arenas.take()
	for _, c := range []*client{a, b} {
		if e := c.refusal(join(c, protocol.TypeError), protocol.CodeRateLimited); e.RetryAfterMS < 1000 {
			t.Errorf("%+v", e)
		}
	}
	if asked := n.arenas.take(); len(asked) != 0 {
		t.Errorf("tried all the same: %v", asked)
	}
	other := n.dialFrom("198.51.100.2").welcomed("eve")
	other.refusal(join(other, protocol.TypeError), protocol.CodeNotFound)
	n.arenas.set(nil)
	code = "123456"
	join(b, protocol.TypeArenaJoined)
}

// What is on trial is counted and not refused.
func TestLimitsOnTrial(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	rules := limit.New(limit.Config{Trial: func(string) bool { return true }, Registry: registry})
	n := start(t, perSecond(0.001), func(c *Config, _ *lobby.Duel) {
		c.Connections = 0
		c.Limits = Limits{
			PerAddress: 1, Full: rules.Cap("connections"), Crowded: rules.Cap("connections_per_address"),
			Silent: rules.Cap("hello_missing"), Messages: rules.Cap("messages_per_second"),
			Hellos: rules.Rule(limit.Terms{Name: "hellos_per_address", Most: 1, Per: time.Hour}),
		}
	})
	n.enter("ada").alive()
	c := n.enter("eve")
	for range 5 {
		c.alive()
	}
	for rule, want := range map[string]float64{"connections": 4, "connections_per_address": 1, "hellos_per_address": 1, "messages_per_second": 4} {
		if got := refusals(t, registry, "dry_run_refusals", rule); got != want {
			t.Errorf("%s would have refused %v, want %v", rule, got, want)
		}
	}
}

// refusals are what a rule has refused, or would_refuse; -1 where it is not known.
func refusals(t *testing.T, registry *prometheus.Registry, what, rule string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "laststand_limit_"+what+"_total" && m.GetLabel()[0].GetValue() == rule {
				return m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

// What messages take of the bucket, whether they are refused for another reason or
// not.
func TestCosts(t *testing.T) {
	t.Parallel()
	n := start(t, perSecond(6))
	for kind, want := range map[string]float64{
		protocol.TypePing: 1, protocol.TypeAnswer: 1, "nonsense": 1, protocol.TypeArenaLeave: 1, protocol.TypeBoardUnwatch: 1,
		protocol.TypeDuelJoin: 2, protocol.TypeMatchSync: 2, protocol.TypeArenaJoin: 3, protocol.TypeBoardWatch: 3,
	} {
		c := n.enter("costs " + kind)
		se := n.session("costs " + kind)
		c.ask(kind, map[string]any{"at": "x"})
		c.untilReply()
		n.eventually("its loop waits", func() bool { return !se.out.busy() })
		if took := 6 - se.pace.tokens; took != want {
			t.Errorf("%s took %v, want %v", kind, took, want)
		}
	}
	c := start(t, perSecond(0.001)).enter("poor")
	c.ask(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"})
	c.reply(protocol.TypeBoardOK) // the whole bucket is enough
	c.ask(protocol.TypePing, map[string]any{"at": 1})
	c.refusal(c.untilReply(), protocol.CodeRateLimited)
}

// pressed is a Pressure that refuses what a test says.
type pressed struct {
	mu      sync.Mutex
	refuses map[pressure.What]bool
}

func (p *pressed) set(what ...pressure.What) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = map[pressure.What]bool{}
	for _, w := range what {
		p.refuses[w] = true
	}
}

func (p *pressed) Presses(w pressure.What) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuses[w]
}

func (p *pressed) Refuse(w pressure.What) error {
	if !p.Presses(w) {
		return nil
	}
	return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
}

func under(p *pressed) func(*Config, *lobby.Duel) {
	return func(c *Config, _ *lobby.Duel) { c.Pressure = p }
}

// Where a node is hard-pressed, who is in a match comes in, on the word of the
// lobby and not of the client, and a host; nobody else does.
func TestPlayersInAMatchComeLast(t *testing.T) {
	t.Parallel()
	var p pressed
	n := start(t, under(&p))
	a, b := n.duel("d")
	found := a.expect(protocol.TypeMatchFound).Match
	b.expect(protocol.TypeMatchFound)
	p.set(pressure.Reading, pressure.Watching, pressure.Guests, pressure.Entering, pressure.Joining)
	a.cut()
	back, w := n.resume("d.a", &protocol.Resume{Match: found})
	if w.Playing == nil || w.Playing.Match != found {
		t.Errorf("welcome %+v", w)
	}
	back.reply(protocol.TypeMatchState)
	for name, from := range map[string]*protocol.Resume{"eve": nil, "liar": {Match: found, Seq: 1}} {
		c := n.dial()
		c.hello(name, from)
		if ms := c.comesAgain(); ms != 4000 {
			t.Errorf("%s comes again in %d ms", name, ms)
		}
	}
	host := n.dial()
	host.ask(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, "host", now()+1e6)})
	host.reply(protocol.TypeWelcome)
	p.set()
	n.enter("eve").alive()
}

// hasty is a Pressure that has everybody come again at once.
type hasty struct{}

func (hasty) Presses(pressure.What) bool { return true }
func (hasty) Refuse(pressure.What) error {
	return protocol.RetryAfter(protocol.CodeOverloaded, 1, "a token will be there")
}

// Who is turned away at the hello comes again after seconds, and not all at once:
// when the next token is there says nothing to the thousands who wait for it.
func TestNobodyComesAgainAtOnce(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Pressure = hasty{} })
	told := map[int64]bool{}
	for i := range 8 {
		c := n.dial()
		c.hello(fmt.Sprint("p", i), nil)
		ms := c.comesAgain()
		if told[ms] = true; ms < retryMS || ms >= 2*retryMS {
			t.Errorf("come again in %d ms", ms)
		}
	}
	if len(told) == 1 {
		t.Errorf("all come again together: %v", told)
	}
}

// The last places are for players in a match.
func TestLastPlaces(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.Connections = reserve })
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	b.expect(protocol.TypeMatchFound)
	a.cut()
	n.eventually("there is room", func() bool { return len(n.all()) == 1 })
	for i := range reserve - 2 {
		n.enter(fmt.Sprint("p", i))
	}
	late := n.dial()
	late.hello("late", nil)
	late.comesAgain()
	n.eventually("its place is free", func() bool { return len(n.all()) == reserve-1 })
	n.enter("d.a")
	n.dial().comesAgain() // now it is full
}

// What a hard-pressed node refuses to those who are in.
func TestShed(t *testing.T) {
	t.Parallel()
	var p pressed
	n := start(t, under(&p))
	c := n.enter("ada")
	watch := func() { c.ask(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}) }
	duel := func() { c.ask(protocol.TypeDuelJoin, map[string]any{}) }
	join := func(as string) func() {
		return func() { c.ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: "123456", As: as}) }
	}
	for _, test := range []struct {
		name  string
		ask   func()
		level []pressure.What
		let   string // the reply; "" for overloaded
	}{
		{"a board", watch, []pressure.What{pressure.Watching}, ""},
		{"a spectator", join("spectator"), []pressure.What{pressure.Watching}, ""},
		{"a player while only watching is refused", join("player"), []pressure.What{pressure.Watching}, protocol.TypeArenaJoined},
		{"a player", join(""), []pressure.What{pressure.Joining}, ""},
		{"the host", join("host"), []pressure.What{pressure.Watching, pressure.Joining}, protocol.TypeArenaJoined},
		{"a duel", duel, []pressure.What{pressure.Joining}, ""},
		{"a board when all is calm", watch, nil, protocol.TypeBoardOK},
		{"a duel while only watching is refused", duel, []pressure.What{pressure.Watching}, protocol.TypeDuelQueued},
	} {
		p.set(test.level...)
		test.ask()
		if test.let != "" {
			if f := c.untilReply(); f.Type != test.let {
				t.Errorf("%s: %s", test.name, f.raw)
			}
			continue
		}
		if e := c.refusal(c.untilReply(), protocol.CodeOverloaded); e.RetryAfterMS != 4000 {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
}

// A message that has begun has its time to come; what dribbles is cut off, in its
// head, in its body, and with control frames between its parts.
func TestDribbledMessage(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.frameWithin = 100 * time.Millisecond
	whole := masked(0x81, `{"id":1,"type":"ping","data":{"at":1}}`)
	for name, sent := range map[string][]byte{
		"half a head":         {0x81},
		"half a body":         whole[:20],
		"one of two parts":    masked(0x01, `{"id":1,`),
		"half a head behind":  append(slices.Clone(whole), 0x81),
		"a head alone behind": append(slices.Clone(whole), masked(0x81, "{}")[:6]...),
		"half a pong behind":  append(slices.Clone(whole), masked(0x8a, "p")[:6]...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := n.enter(name)
			if _, err := c.conn.NetConn().Write(sent); err != nil {
				t.Fatal(err)
			}
			if _, reason := c.closes(protocol.CloseSilent); reason == "" {
				t.Error("no reason")
			}
		})
	}
	t.Run("pongs between the parts", func(t *testing.T) {
		t.Parallel()
		c := n.enter("parts")
		done := make(chan struct{})
		defer func() { <-done }()
		go func() {
			defer close(done)
			_, err := c.conn.NetConn().Write(masked(0x01, `{"id":1,`))
			for ; err == nil; time.Sleep(10 * time.Millisecond) { // as a dribbler does
				_, err = c.conn.NetConn().Write(masked(0x8a, ""))
			}
		}()
		defer c.cut()
		if _, err := c.read(); !websocket.IsCloseError(err, protocol.CloseSilent) {
			t.Errorf("not closed: %v", err)
		}
	})
}

// What is no frame of a client's is closed, and counted as that.
func TestNoFrames(t *testing.T) {
	t.Parallel()
	n := start(t)
	faults := map[string][]byte{
		"unmasked": {0x81, 0x02, '{', '}'}, "compressed": {0xc1, 0x80, 0, 0, 0, 0}, "of nobody's kind": {0x83, 0x80, 0, 0, 0, 0},
		"a part of nothing": {0x80, 0x80, 0, 0, 0, 0}, "a ping in parts": {0x09, 0x80, 0, 0, 0, 0},
	}
	for name, sent := range faults {
		c := n.enter(strings.ReplaceAll(name, " ", "_"))
		if _, err := c.conn.NetConn().Write(sent); err != nil {
			t.Fatal(err)
		}
		if _, err := c.read(); !websocket.IsCloseError(err, websocket.CloseProtocolError) {
			t.Errorf("%s: %v", name, err)
		}
		c.cut()
	}
	n.eventually("they are counted", func() bool { return n.closed("1002") == float64(len(faults)) })
	if n.closed("gone") != 0 {
		t.Errorf("closed: %v", n.labels("closes_total"))
	}
}

// Who says nothing but answers pings is never amid a message.
func TestControlFramesAreNoMessage(t *testing.T) {
	t.Parallel()
	n := start(t, func(c *Config, _ *lobby.Duel) { c.PingEvery = 400 * time.Millisecond })
	n.frameWithin = 20 * time.Millisecond
	c := n.enter("ada")
	answered, pings := c.conn.PingHandler(), 0
	c.conn.SetPingHandler(func(data string) error {
		if pings++; pings == 3 {
			c.ask(protocol.TypeDuelLeave, protocol.Empty{})
		}
		return answered(data)
	})
	c.until(protocol.TypeDuelLeft)
}
