package redislobby

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/rating"
	"laststand/internal/testenv"
)

const epoch = 1_795_212_345_678

// nearest is a slice that covers all tickets of most tests.
var nearest = lobby.Slice{Count: 32}

// testLobby is a test with a game of its own in Redis.
type testLobby struct {
	*testing.T
	*Store
	client redis.UniversalClient
	game   string
}

func each(t *testing.T, f func(h *testLobby)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		f(&testLobby{T: t, Store: New(c), client: c, game: "game." + ulid.Make().String()})
	})
}

func (h *testLobby) ticket(player string, r float64) lobby.Ticket {
	return lobby.Ticket{
		ID: "t_" + player, Game: h.game, JoinedAt: epoch, BotAt: epoch + 8000, Filter: lobby.Filter{Lang: "zh-CN"},
		Seat: match.Seat{Player: player, Nickname: "猫 \"" + player + "\"", Rating: &rating.Rating{R: r, RD: 80.25, Sigma: 0.06}},
	}
}

// addTicket adds a ticket, which must be accepted.
func (h *testLobby) addTicket(t lobby.Ticket, now int64) int64 {
	h.Helper()
	waiting, with, err := h.AddTicket(h.Context(), t, lobby.Activity{}, now)
	if err != nil || with != (lobby.Activity{}) {
		h.Fatalf("%s: busy with %+v, %v", t.ID, with, err)
	}
	return waiting
}

// nearest returns the sorted players of the listed tickets; nil if the ticket
// itself does not wait.
func (h *testLobby) nearest(t lobby.Ticket, now int64) []string {
	h.Helper()
	tickets, waits, err := h.ListNearest(h.Context(), t, nearest, now)
	if err != nil || !waits && len(tickets) > 0 {
		h.Fatalf("%v, %d, %v", waits, len(tickets), err)
	}
	if !waits {
		return nil
	}
	players := make([]string, 0, len(tickets))
	for _, near := range tickets {
		players = append(players, near.Seat.Player)
	}
	slices.Sort(players)
	return players
}

func (h *testLobby) checkNearest(t lobby.Ticket, now int64, want ...string) {
	h.Helper()
	if got := h.nearest(t, now); !slices.Equal(got, want) {
		h.Errorf("near %s: %v, want %v", t.ID, got, want)
	}
}

func (h *testLobby) checkActivity(player string, want lobby.Activity) {
	h.Helper()
	got, err := h.ReadActivity(h.Context(), h.game, player)
	if want.Duel == "" {
		got.Duel = "" // TestTheLastDuelIsStoredUntilItIsSettled checks it
	}
	if err != nil || got != want {
		h.Errorf("%s is busy with %+v, %v, want %+v", player, got, err, want)
	}
}

func (h *testLobby) pair(id string, tickets ...lobby.Ticket) bool {
	h.Helper()
	won, err := h.Pair(h.Context(), lobby.Pairing{Match: id, At: epoch, Tickets: tickets})
	if err != nil {
		h.Fatal(err)
	}
	return won
}

func TestAddTicket(t *testing.T) {
	each(t, func(h *testLobby) {
		ada, bob := h.ticket("ada", 1500), h.ticket("bob", 1500)
		if n := h.addTicket(ada, epoch); n != 1 {
			h.Errorf("%d wait", n)
		}
		if n := h.addTicket(ada, epoch); n != 1 { // run again
			h.Errorf("%d wait, of one ticket", n)
		}
		if n := h.addTicket(bob, epoch); n != 2 {
			h.Errorf("%d wait", n)
		}
		h.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		h.checkActivity("nobody", lobby.Activity{})
		got, waits, err := h.ListNearest(h.Context(), bob, nearest, epoch)
		if err != nil || !waits || len(got) != 1 || !reflect.DeepEqual(got[0], ada) {
			h.Errorf("%+v, %v, %v", got, waits, err)
		}
		second := ada
		second.ID = "t_second"
		if _, with, err := h.AddTicket(h.Context(), second, lobby.Activity{}, epoch+aliveMS); err != nil || with != (lobby.Activity{Ticket: "t_ada"}) {
			h.Errorf("a second ticket: %+v, %v", with, err)
		}
		if ttl := h.client.TTL(h.Context(), keys{h.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			h.Errorf("busy for %v", ttl)
		}
	})
}

// A player whose ticket has expired may join again, and then has one ticket.
func TestAddTicketAfterAnExpiredTicket(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.ticket("ada", 1500)
		h.addTicket(ada, epoch)
		second := ada
		second.ID = "t_second"
		if n := h.addTicket(second, epoch+aliveMS+1); n != 1 {
			h.Errorf("%d wait", n)
		}
		h.checkActivity("ada", lobby.Activity{Ticket: "t_second"})
		if got := h.nearest(ada, epoch+aliveMS+1); got != nil {
			h.Errorf("the first waits among %v", got)
		}
		h.checkNearest(h.addedTicket("bob", epoch+aliveMS+1), epoch+aliveMS+1, "ada")
	})
}

func (h *testLobby) addedTicket(player string, now int64) lobby.Ticket {
	h.Helper()
	t := h.ticket(player, 1500)
	h.addTicket(t, now)
	return t
}

func TestAddTicketAfterAMatch(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.addedTicket("ada", epoch)
		if !h.pair("m_1", ada) {
			h.Fatal("not paired")
		}
		next := ada
		next.ID = "t_next"
		for _, former := range []lobby.Activity{{}, {Match: "m_0"}} {
			if _, with, err := h.AddTicket(h.Context(), next, former, epoch); err != nil || with != (lobby.Activity{Match: "m_1"}) {
				h.Errorf("former %+v: %+v, %v", former, with, err)
			}
		}
		if n, with, err := h.AddTicket(h.Context(), next, lobby.Activity{Match: "m_1"}, epoch); err != nil || with != (lobby.Activity{}) || n != 1 {
			h.Errorf("%d wait, %+v, %v", n, with, err)
		}
		h.checkActivity("ada", lobby.Activity{Ticket: "t_next"})
	})
}

// All waiting tickets are listed slice by slice, the nearest rating on each
// side first.
func TestListNearest(t *testing.T) {
	each(t, func(h *testLobby) {
		own := h.ticket("own", 1500.5)
		h.addTicket(own, epoch)
		const others = 84
		for i := range others {
			gap := float64(1 + i/2)
			if i%2 == 0 {
				gap = -gap
			}
			h.addTicket(h.ticket(fmt.Sprintf("p_%03d", i), 1500.5+gap), epoch)
		}
		listed := 0
		for s, want := range map[lobby.Slice]int{{Count: 4}: 7, {Skip: 4, Count: 28}: 56, {Skip: 32, Count: 32}: 21, {Skip: 64, Count: 32}: 0} {
			near, waits, err := h.ListNearest(h.Context(), own, s, epoch)
			if err != nil || !waits || len(near) != want {
				h.Errorf("slice %+v: %d tickets, %v, %v, want %d", s, len(near), waits, err, want)
			}
			for _, t := range near {
				if gap := math.Abs(t.Rating() - own.Rating()); gap < float64(s.Skip) || gap > float64(s.Skip+s.Count) {
					h.Errorf("%s is in slice %+v, %g away", t.ID, s, gap)
				}
			}
			listed += len(near)
		}
		if listed != others {
			h.Errorf("%d of %d are listed", listed, others)
		}
	})
}

// Renewing a ticket keeps its player's activity for as long as the ticket
// waits.
func TestListNearestKeepsTheActivity(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.addedTicket("ada", epoch)
		busy := keys{h.game}.busy("ada")
		if err := h.client.PExpire(h.Context(), busy, time.Minute).Err(); err != nil {
			h.Fatal(err)
		}
		h.checkNearest(ada, epoch)
		if ttl := h.client.TTL(h.Context(), busy).Val(); ttl < busyTTL-time.Minute {
			h.Errorf("busy for %v", ttl)
		}
	})
}

// A ticket that its node does not renew is removed when it expires. A renewed
// one stays.
func TestExpiredTicketsLeave(t *testing.T) {
	each(t, func(h *testLobby) {
		own, other := h.addedTicket("own", epoch), h.addedTicket("other", epoch)
		h.checkNearest(own, epoch+aliveMS, "other")
		h.checkNearest(other, epoch+aliveMS, "own")
		now := int64(epoch + 2*aliveMS)
		h.checkNearest(own, now, "other")
		h.checkNearest(own, now+1)
		if n := h.client.HLen(h.Context(), keys{h.game}.tickets()).Val(); n != 1 {
			h.Errorf("%d tickets are kept", n)
		}
		if h.pair("m_1", own, other) {
			h.Error("an expired ticket was paired")
		}
		// The node was only slow: the ticket comes back with its age.
		h.checkNearest(other, now+2, "own")
		got, _, err := h.ListNearest(h.Context(), own, nearest, now+2)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], other) {
			h.Errorf("%+v, %v", got, err)
		}
	})
}

// Tickets of a dead node do not hide the waiting tickets behind them.
func TestExpiredTicketsHideNobody(t *testing.T) {
	each(t, func(h *testLobby) {
		own := h.ticket("own", 1500)
		h.addTicket(own, epoch)
		for i := range 12 {
			h.addTicket(h.ticket(fmt.Sprint("higher_", i), float64(1501+i)), epoch)
			h.addTicket(h.ticket(fmt.Sprint("lower_", i), float64(1499-i)), epoch)
		}
		now := int64(epoch + aliveMS + 1)
		for i, r := range []float64{1600, 1400} {
			h.addTicket(h.ticket(fmt.Sprint("waits_", i), r), now)
		}
		near, waits, err := h.ListNearest(h.Context(), own, lobby.Slice{Count: 4}, now)
		if err != nil || !waits || len(near) != 2 {
			h.Errorf("%d tickets, %v, %v", len(near), waits, err)
		}
	})
}

// A removed ticket does not come back.
func TestATicketThatHasLeftStaysAway(t *testing.T) {
	each(t, func(h *testLobby) {
		ada, bob := h.addedTicket("ada", epoch), h.addedTicket("bob", epoch)
		id, err := h.RemoveTicket(h.Context(), h.game, "ada")
		if err != nil || id != "t_ada" {
			h.Errorf("%q, %v", id, err)
		}
		if id, err := h.RemoveTicket(h.Context(), h.game, "ada"); err != nil || id != "" {
			h.Errorf("again: %q, %v", id, err)
		}
		if got := h.nearest(ada, epoch); got != nil {
			h.Errorf("it waits among %v", got)
		}
		h.checkNearest(bob, epoch)
		if h.pair("m_1", bob, ada) {
			h.Error("it was paired")
		}
		h.checkActivity("bob", lobby.Activity{Ticket: "t_bob"})
		if !h.pair("m_2", bob) {
			h.Error("bob does not wait any more")
		}
		if got := h.nearest(bob, epoch); got != nil {
			h.Errorf("paired, and waits among %v", got)
		}
		if id, err := h.RemoveTicket(h.Context(), h.game, "bob"); err != nil || id != "" {
			h.Errorf("from a match: %q, %v", id, err)
		}
		h.checkActivity("bob", lobby.Activity{Match: "m_2", Forming: true})
	})
}

func TestPair(t *testing.T) {
	each(t, func(h *testLobby) {
		ada, bob, eve := h.addedTicket("ada", epoch), h.addedTicket("bob", epoch), h.addedTicket("eve", epoch)
		for range 2 { // run again
			if !h.pair("m_1", ada, bob) {
				h.Error("not paired")
			}
		}
		if h.pair("m_2", bob, eve) || h.pair("m_2", eve, bob) {
			h.Error("bob was paired twice")
		}
		h.checkNearest(eve, epoch)
		h.checkActivity("ada", lobby.Activity{Match: "m_1", Forming: true})
		h.checkActivity("bob", lobby.Activity{Match: "m_1", Forming: true})
		pairings, err := h.ListPairings(h.Context(), h.game)
		if err != nil || len(pairings) != 1 || !reflect.DeepEqual(pairings[0], lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada, bob}}) {
			h.Errorf("%+v, %v", pairings, err)
		}
		for range 2 {
			if err := h.CompletePairing(h.Context(), pairings[0]); err != nil {
				h.Error(err)
			}
		}
		if n := h.client.ZCard(h.Context(), keys{h.game}.alive()).Val(); n != 1 {
			h.Errorf("%d tickets are alive", n)
		}
		h.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if pairings, err := h.ListPairings(h.Context(), h.game); err != nil || len(pairings) != 0 {
			h.Errorf("%+v, %v", pairings, err)
		}
		if ttl := h.client.TTL(h.Context(), keys{h.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			h.Errorf("busy for %v", ttl)
		}
	})
}

func TestGamesAreApart(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.addedTicket("ada", epoch)
		other := *h
		other.game += ".other"
		other.checkActivity("ada", lobby.Activity{})
		other.checkNearest(other.addedTicket("bob", epoch), epoch)
		h.checkNearest(ada, epoch)
	})
}

func TestATicketIsReadWhileItWaits(t *testing.T) {
	each(t, func(h *testLobby) {
		ada := h.ticket("ada", 1500)
		if _, waits, err := h.ReadTicket(h.Context(), h.game, ada.ID); waits || err != nil {
			h.Errorf("before it is there: %v, %v", waits, err)
		}
		h.addTicket(ada, epoch)
		if got, waits, err := h.ReadTicket(h.Context(), h.game, ada.ID); !waits || err != nil || !reflect.DeepEqual(got, ada) {
			h.Errorf("%+v, %v, %v; want %+v", got, waits, err, ada)
		}
		if paired, err := h.Pair(h.Context(), lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada}}); !paired || err != nil {
			h.Fatal(paired, err)
		}
		if _, waits, err := h.ReadTicket(h.Context(), h.game, ada.ID); waits || err != nil {
			h.Errorf("once it is paired: %v, %v", waits, err)
		}
	})
}
