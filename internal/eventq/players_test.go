package eventq

import (
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

const pi = "1fffbjzos82bs9cnyj1dna7d6d29zg4esnh99u"

var hex32 = regexp.MustCompile(`^[0-9a-f]{32}$`)

// A guest is reported by a device that reveals nothing, a verified player by the
// PI.
func TestReportedPlayers(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		came := now()
		guest, known := p.Enter("demo", "p_guest", ""), p.Enter("demo", "p_known", pi)
		time.Sleep(time.Minute)
		guest()
		known()
		guest() // again
		h.pairs(2)
		all := h.reported("")
		device, session := all[0].Device, all[0].Session
		if !hex32.MatchString(device) || !hex32.MatchString(session) || device == session {
			t.Errorf("device %q, session %q", device, session)
		}
		for i, want := range []Behaviour{
			{ID: "on:" + session, Type: Online, At: came, Player: "p_guest", Device: device, Session: session, Account: Guest},
			{ID: "on:" + all[1].Session, Type: Online, At: came, Player: "p_known", Session: all[1].Session, Account: Verified, PI: pi},
			{ID: "off:" + session, Type: Offline, At: came + 60_000, Player: "p_guest", Device: device, Session: session, Account: Guest},
			{ID: "off:" + all[1].Session, Type: Offline, At: came + 60_000, Player: "p_known", Session: all[1].Session, Account: Verified, PI: pi},
		} {
			if fmt.Sprint(all[i]) != fmt.Sprint(want) {
				t.Errorf("%+v, want %+v", all[i], want)
			}
		}
		p.Enter("demo", "p_guest", "")()
		if again := h.reported(Online)[2]; again.Device != device || again.Session == session {
			t.Errorf("on another visit: device %q, session %q", again.Device, again.Session)
		}
		if deviceOf("starts", "p_guest") == device || deviceOf("demo", "p_other") == device {
			t.Error("others have the same device")
		}
	})
}

// A game reports the types that it chose. A game without types costs nothing.
func TestReportedTypes(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		for _, game := range []string{"none", "starts", "unknown"} {
			leave := p.Enter(game, "ada", "")
			h.wantNoneAt("a")
			leave()
		}
		if all := h.reported(""); len(all) > 0 {
			t.Errorf("%+v", all)
		}
	})
}

func (h *hall) wantNoneAt(node string) {
	h.Helper()
	if n := h.recordedAt(node); n != 0 {
		h.Errorf("%d visits at %s", n, node)
	}
}

// The session store has the sessions of this node, without ended ones.
func TestSessionStoreFollows(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		var leave []func()
		for i := range 1000 {
			leave = append(leave, p.Enter("demo", fmt.Sprint("p", i), ""))
		}
		if n := h.recordedAt("a"); n != 1000 {
			t.Errorf("%d of 1000", n)
		}
		if n := testutil.ToFloat64(p.counts.here); n != 1000 {
			t.Errorf("%v of 1000 counted", n)
		}
		for _, f := range leave {
			f()
		}
		h.wantNoneAt("a")
		h.pairs(1000)
		if n := testutil.ToFloat64(p.counts.here); n != 0 {
			t.Errorf("%v counted of none", n)
		}
	})
}

// While the session store is unreachable, no caller waits for it. Afterwards it
// gets all changes.
func TestSessionStoreOutOfReach(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		h.setDown(true)
		stays, goes := p.Enter("demo", "stays", ""), p.Enter("demo", "goes", "")
		time.Sleep(10 * time.Second)
		goes()
		if failed := testutil.ToFloat64(p.counts.storeErrors); failed < 2 {
			t.Errorf("%v failures counted", failed)
		}
		h.setDown(false)
		time.Sleep(2 * syncInterval)
		if n := h.recordedAt("a"); n != 1 {
			t.Errorf("%d visits of 1", n)
		}
		stays()
		h.wantNoneAt("a")
		h.pairs(2)
	})
}

// Beyond a limit, changes are dropped and counted. The ends of recorded sessions
// are always kept.
func TestTooManySessions(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		h.setDown(true)
		synctest.Wait()
		listed := p.Enter("demo", "first", "")
		p.mu.Lock()
		for i := range maxPending - 1 {
			p.changes = append(p.changes, SessionRecord{Game: "demo", Session: fmt.Sprint(i)})
		}
		p.mu.Unlock()
		unrecorded := p.Enter("demo", "last", "")
		if n := testutil.ToFloat64(p.counts.recordFailures); n != 1 {
			t.Errorf("%v counted", n)
		}
		listed()
		unrecorded()
		if waiting := len(p.changes); waiting != maxPending+1 {
			t.Errorf("%d changes wait", waiting)
		}
		h.pairs(2)
		h.setDown(false)
		time.Sleep(2 * syncInterval)
		if n := h.recordedAt("a"); n != maxPending-1 {
			t.Errorf("%d visits", n)
		}
	})
}

// A node that stops ends its remaining sessions, and leaves none to other nodes.
func TestPlayersOfANodeThatStops(t *testing.T) {
	withHall(t, func(h *hall) {
		a := h.node("a")
		b := h.node("b")
		var leave []func()
		for i := range 1000 {
			leave = append(leave, a.Enter("demo", fmt.Sprint("p", i), ""))
		}
		leave[0]()
		a.stop()
		h.wantNoneAt("a")
		leave[1]()
		h.pairs(1000)
		time.Sleep(time.Minute)
		if n := testutil.ToFloat64(b.counts.deadNodeSessions); n != 0 || h.twice != 0 {
			t.Errorf("%v orphans, %d offered twice", n, h.twice)
		}
	})
}

// A node stops in time while the store is unreachable. Others report the same
// ends.
func TestPlayersOfANodeThatStopsOutOfReach(t *testing.T) {
	withHall(t, func(h *hall) {
		a := h.node("a")
		a.Enter("demo", "ada", "")
		h.recordedAt("a")
		h.setDown(true)
		a.stop()
		h.setDown(false)
		h.node("b")
		time.Sleep(time.Minute)
		h.pairs(1)
		h.wantNoneAt("a")
		if h.twice != 1 {
			t.Errorf("offered %d times again", h.twice)
		}
	})
}
