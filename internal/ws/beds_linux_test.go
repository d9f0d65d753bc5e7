package ws

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// restlessly has the quiet of a node lulled all the time; before anybody comes.
func (n *node) restlessly() {
	n.beds.quiet, n.beds.every = 0, time.Millisecond
}

// asleep is how many sessions sleep, as the metric has it.
func (n *node) asleep() int { return int(testutil.ToFloat64(n.metrics.sleeping)) }

// sleeper is a player whose session sleeps.
func (n *node) sleeper(player string) *client {
	n.Helper()
	c := n.enter(player)
	c.alive()
	n.eventually("it sleeps", func() bool { return n.sleeps(n.session(player)) })
	return c
}

// sleeps says whether a session does.
func (n *node) sleeps(se *session) bool {
	n.beds.mu.Lock()
	defer n.beds.mu.Unlock()
	return n.beds.sleeps(se)
}

// Who is quiet is no goroutine, however often it has answered pings; who asks
// something is answered as ever. When all have gone, so has the poller. Not
// parallel: it counts goroutines of the process.
func TestSleepersHaveNoGoroutine(t *testing.T) {
	const sessions = 50
	n := start(t)
	n.restlessly()
	var clients []*client
	for i := range sessions {
		clients = append(clients, n.enter(fmt.Sprint("player", i)))
	}
	awakened := func(when string, at int) {
		t.Helper()
		n.eventually("all sleep "+when, func() bool {
			return testutil.ToFloat64(n.metrics.awakenings) >= float64(at) && n.asleep() == sessions && goroutines("ws.(*session)") == 0
		})
	}
	awakened("after hello", 0)
	for round := range 3 {
		before := int(testutil.ToFloat64(n.metrics.awakenings))
		for _, c := range clients {
			_ = c.conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(patience))
		}
		awakened("after a pong", before+sessions)
		for _, c := range clients {
			c.ask(protocol.TypePing, map[string]any{"at": round})
		}
		for _, c := range clients {
			c.reply(protocol.TypePong)
		}
		awakened("after a request", before+2*sessions)
	}
	for _, c := range clients {
		c.cut()
	}
	n.eventually("all have gone", func() bool { return len(n.all()) == 0 && goroutines("ws.(*poller)") == 0 })
	if n.asleep() != 0 || len(n.beds.all) != 0 {
		t.Errorf("%d sleep, %d beds are left", n.asleep(), len(n.beds.all))
	}
}

// A sleeper ends as any other does, once, whoever ends it.
func TestSleepersEnd(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	ends := map[string]struct {
		code int // 0: none is told
		end  func(c *client, player string)
	}{
		"closed":      {4408, func(_ *client, p string) { n.session(p).close(4408, "") }},
		"closed late": {1012, func(_ *client, p string) { n.session(p).drain() }},
		"replaced":    {4409, func(_ *client, p string) { n.enter(p).cut() }},
		"elsewhere":   {4409, func(_ *client, p string) { n.Replaced("demo", p, 1<<62) }},
		"silent":      {4408, func(_ *client, p string) { n.session(p).heard.Store(0); n.session(p).beat() }},
		"idle":        {1013, func(_ *client, p string) { n.session(p).asked.Store(0); n.CloseIdle() }},
		"cut":         {0, func(_ *client, p string) { n.session(p).cut() }},
		"torn":        {0, func(_ *client, p string) { _ = n.session(p).wire.Close(); n.session(p).Push("", []byte("{}")) }},
		"gone":        {0, func(c *client, _ string) { c.cut() }},
		"said goodbye": {1000, func(c *client, _ string) {
			_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
		}},
	}
	for name, how := range ends {
		c := n.sleeper(name)
		se := n.session(name)
		how.end(c, name)
		if how.code != 0 {
			c.closes(how.code)
		}
		n.eventually(name+": it has ended", func() bool { return n.session(name) == nil && !n.sleeps(se) })
	}
	n.eventually("all have", func() bool { return len(n.all()) == 0 && n.asleep() == 0 })
}

// All that sleep are awakened at a drain, and told.
func TestSleepersDrain(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	var clients []*client
	for i := range 100 {
		clients = append(clients, n.enter(fmt.Sprint("player", i)))
	}
	n.eventually("all sleep", func() bool { return n.asleep() == len(clients) })
	_, drained := n.leaving()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			c.expect(protocol.TypeDraining)
			c.closes(1012)
		})
	}
	all.Wait()
	<-drained
	if n.asleep() != 0 {
		t.Errorf("%d sleep on", n.asleep())
	}
}

// Who has sent half a message does not sleep, however long that takes within its
// time; lulling does not take from that.
func TestNobodySleepsAmidAMessage(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	n.frameWithin = 200 * time.Millisecond
	c := n.sleeper("slow")
	se := n.session("slow")
	raw := c.conn.NetConn()
	if _, err := raw.Write([]byte{finalBit | 1}); err != nil {
		t.Fatal(err)
	}
	n.eventually("it is up", func() bool { return !n.sleeps(se) })
	for range 20 {
		se.wire.lull()
		n.beds.lull()
	}
	if n.sleeps(se) {
		t.Error("it sleeps")
	}
	c.closes(4408)
}

// An event of a sleep that is over wakes nobody: neither who sleeps again, nor who
// has the bed next.
func TestStaleEvents(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	var stale []uint64
	for i := range 6 {
		player := fmt.Sprint("player", i)
		n.enter("stays" + player) // so that no bed is let go of
		c := n.sleeper(player)
		for range 3 {
			se := n.session(player)
			n.beds.mu.Lock()
			stale = append(stale, uint64(n.beds.all[se.bed-1].turn)<<32|uint64(se.bed-1))
			n.beds.mu.Unlock()
			c.alive()
			n.eventually("it sleeps again", func() bool { return n.sleeps(se) })
		}
		if i%2 == 0 {
			c.cut()
			n.eventually("it has gone", func() bool { return n.session(player) == nil })
		}
	}
	n.eventually("all sleep", func() bool { return n.asleep() == len(n.all()) })
	before := testutil.ToFloat64(n.metrics.awakenings)
	n.beds.wake(append(stale, 1<<31))
	if woken := testutil.ToFloat64(n.metrics.awakenings) - before; woken != 0 {
		t.Errorf("%v were awakened", woken)
	}
}

// Who armed a sleep that was over by then may have undone the arming of the next: it
// is awakened rather than left.
func TestLateArming(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	n.sleeper("ada")
	se := n.session("ada")
	n.beds.mu.Lock()
	turn, before := n.beds.all[se.bed-1].turn, testutil.ToFloat64(n.metrics.awakenings)
	n.beds.mu.Unlock()
	if !n.beds.armed(se, turn-1, nil) {
		t.Error("the loop goes on though it is another's")
	}
	n.eventually("it was awakened, and sleeps again", func() bool {
		return testutil.ToFloat64(n.metrics.awakenings) > before && n.sleeps(se)
	})
}

// Where the poller fails all are awakened, and there is another; where the system
// has none to give nobody sleeps. They are served as ever.
func TestNoPoller(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	c := n.sleeper("ada")
	n.beds.mu.Lock()
	failed := n.beds.poll
	_ = failed.file.Close()
	n.beds.mu.Unlock()
	n.eventually("there is another", func() bool {
		n.beds.mu.Lock()
		defer n.beds.mu.Unlock()
		return n.beds.poll != nil && n.beds.poll != failed && n.beds.asleep == 1
	})
	c.alive()
	none := start(t)
	none.restlessly()
	none.beds.fresh = func() (*poller, error) { return nil, errors.New("too many open files") }
	for i := range 3 {
		none.enter(fmt.Sprint("player", i)).alive()
	}
	none.beds.lull()
	if none.asleep() != 0 {
		t.Errorf("%d sleep without a poller", none.asleep())
	}
}

// Where the system has no poller, or no room in it for one more, those that are up are
// not lulled again and again; who sleeps already goes on doing so.
func TestNoRoomToSleep(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	n.sleeper("ada")
	se := n.session("ada")
	n.beds.mu.Lock()
	turn := n.beds.all[se.bed-1].turn
	n.beds.mu.Unlock()
	if n.beds.armed(se, turn, syscall.ENOSPC) {
		t.Error("it sleeps though nothing looks after its socket")
	}
	if quiet := n.beds.restless(); len(quiet) > 0 || n.sleeps(se) {
		t.Errorf("%d are to be lulled in vain", len(quiet))
	}
	go se.run()
	n.enter("eve")
	n.eventually("who has said hello sleeps", func() bool { return n.sleeps(n.session("eve")) })
	none := start(t)
	none.restlessly()
	none.beds.fresh = func() (*poller, error) { return nil, syscall.EMFILE }
	none.enter("ada").alive() // it had no poller after its hello
	if quiet := none.beds.restless(); len(quiet) > 0 {
		t.Errorf("%d are to be lulled though there is no poller", len(quiet))
	}
}

// A client that answers pings that nobody has sent is not awakened by each: it stays
// up until it is quiet.
func TestPongsInARow(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.beds.quiet = time.Hour
	c := n.enter("ada")
	se := n.session("ada")
	n.eventually("it sleeps after its hello", func() bool { return n.sleeps(se) })
	slept := testutil.ToFloat64(n.metrics.awakenings)
	for range 3 {
		before := se.heard.Load()
		n.eventually("a pong has come", func() bool {
			_ = c.conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(patience))
			return se.heard.Load() > before
		})
		c.alive()
	}
	if woken := testutil.ToFloat64(n.metrics.awakenings) - slept; woken != 1 || n.sleeps(se) {
		t.Errorf("awakened %v times", woken)
	}
}

// Over TLS there is no raw connection, and whoever waits keeps a goroutine.
func TestNobodySleepsOverTLS(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.restlessly()
	site := httptest.NewTLSServer(n.Server)
	t.Cleanup(site.Close)
	secure := websocket.Dialer{TLSClientConfig: site.Client().Transport.(*http.Transport).TLSClientConfig}
	conn, answer, err := secure.Dial("wss"+strings.TrimPrefix(site.URL, "https"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	c := &client{T: t, conn: conn}
	c.hello("ada", nil)
	c.reply(protocol.TypeWelcome)
	for range 3 {
		_ = conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(patience))
		c.alive()
		n.beds.lull()
	}
	if se := n.session("ada"); se.bed != 0 || n.asleep() != 0 {
		t.Errorf("it has bed %d, %d sleep", se.bed, n.asleep())
	}
	_, drained := n.leaving()
	c.expect(protocol.TypeDraining)
	c.closes(1012)
	<-drained
}

// What is said to sessions that sleep and wake all the time, in whatever pieces, is
// answered once and in order; and each ends once, in whatever way, amid that.
func TestSleepersRace(t *testing.T) {
	t.Parallel()
	const players, rounds, each = 24, 3, 25
	n := start(t)
	n.restlessly()
	var all sync.WaitGroup
	for i := range players {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(i), 1))
			for round := range rounds {
				player := fmt.Sprint("player", i)
				c := n.enter(player)
				for range each {
					c.inPieces(dice, n.session(player))
				}
				n.endAnyhow(c, player, dice.IntN(6), round)
			}
		})
	}
	all.Wait()
	n.eventually("all have ended", func() bool { return len(n.all()) == 0 && n.asleep() == 0 })
	if woken := testutil.ToFloat64(n.metrics.awakenings); woken < players*rounds {
		t.Errorf("%v awakenings", woken)
	}
}

// inPieces asks one thing to three of them, with pongs between, in pieces that are
// sent one by one while the session is lulled.
func (c *client) inPieces(dice *rand.Rand, se *session) {
	c.Helper()
	var sent []byte
	asks := 1 + dice.IntN(3)
	for range asks {
		c.id++
		text := fmt.Sprintf(`{"id":%d,"type":"ping","data":{"at":%q}}`, c.id, strings.Repeat("x", dice.IntN(60)))
		sent = append(sent, masked(finalBit|websocket.TextMessage, text)...)
		if dice.IntN(2) == 0 {
			sent = append(sent, masked(finalBit|websocket.PongMessage, "")...)
		}
	}
	for len(sent) > 0 {
		n := 1 + dice.IntN(len(sent))
		if _, err := c.conn.NetConn().Write(sent[:n]); err != nil {
			c.fail("%v", err)
		}
		sent = sent[n:]
		if dice.IntN(2) == 0 {
			se.wire.lull()
		}
	}
	for i := range asks {
		if f := c.expect(protocol.TypePong); *f.Re != c.id-int64(asks-1-i) {
			c.fail("%s instead of the reply to %d", f.raw, c.id)
		}
	}
}

// endAnyhow ends a session from both sides, at once or not.
func (n *node) endAnyhow(c *client, player string, how, round int) {
	se := n.session(player)
	switch how {
	case 0:
		c.cut()
	case 1:
		se.close(4408, "")
	case 2:
		go c.cut()
		se.drain()
	case 3:
		go se.cut()
		se.close(4408, "")
	case 4:
		go se.close(4408, "")
		n.enter(player).cut()
	case 5:
		_, _ = c.conn.NetConn().Write(masked(finalBit|websocket.TextMessage, `{"id":1,`)[:round+3])
		go se.drain()
		n.Replaced("demo", player, 1<<62)
	}
	if how > 0 && how != 2 {
		for err := error(nil); err == nil; {
			_, err = c.read()
		}
		c.cut()
	}
	n.eventually("it has ended", func() bool { return n.session(player) != se })
}
