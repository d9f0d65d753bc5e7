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
	"laststand/internal/trial"
)

const epoch = 1_795_212_345_678

// nearest are more than wait in most tests.
var nearest = lobby.Slice{Count: 32}

// hall is a game of its own in a Redis, and a test of it.
type hall struct {
	*testing.T
	*Store
	client redis.UniversalClient
	game   string
}

func each(t *testing.T, f func(h *hall)) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		f(&hall{T: t, Store: New(c), client: c, game: "game." + ulid.Make().String()})
	})
}

func (h *hall) ticket(player string, r float64) lobby.Ticket {
	return lobby.Ticket{
		ID: "t_" + player, Game: h.game, JoinedAt: epoch, BotAt: epoch + 8000, Wish: lobby.Wish{Lang: "zh-CN"},
		Seat: match.Seat{Player: player, Nickname: "猫 \"" + player + "\"", Rating: &rating.Rating{R: r, RD: 80.25, Sigma: 0.06}},
	}
}

// enter enters a ticket that has to be let in.
func (h *hall) enter(t lobby.Ticket, now int64) int64 {
	h.Helper()
	waiting, with, err := h.Enter(h.Context(), t, lobby.Busy{}, now)
	if err != nil || with != (lobby.Busy{}) {
		h.Fatalf("%s: busy with %+v, %v", t.ID, with, err)
	}
	return waiting
}

// near are the players whose tickets are near, sorted; nil where the ticket
// itself does not wait.
func (h *hall) near(t lobby.Ticket, now int64) []string {
	h.Helper()
	tickets, waits, err := h.Near(h.Context(), t, nearest, now)
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

func (h *hall) checkNear(t lobby.Ticket, now int64, want ...string) {
	h.Helper()
	if got := h.near(t, now); !slices.Equal(got, want) {
		h.Errorf("near %s: %v, want %v", t.ID, got, want)
	}
}

func (h *hall) checkWhere(player string, want lobby.Busy) {
	h.Helper()
	got, err := h.Where(h.Context(), h.game, player)
	if want.Duel == "" {
		got.Duel = "" // TestTheLastDuelIsKept looks at it
	}
	if err != nil || got != want {
		h.Errorf("%s is busy with %+v, %v, want %+v", player, got, err, want)
	}
}

func (h *hall) pair(id string, tickets ...lobby.Ticket) bool {
	h.Helper()
	won, err := h.Pair(h.Context(), lobby.Pairing{Match: id, At: epoch, Tickets: tickets})
	if err != nil {
		h.Fatal(err)
	}
	return won
}

func TestEnter(t *testing.T) {
	each(t, func(h *hall) {
		ada, bob := h.ticket("ada", 1500), h.ticket("bob", 1500)
		if n := h.enter(ada, epoch); n != 1 {
			h.Errorf("%d wait", n)
		}
		if n := h.enter(ada, epoch); n != 1 { // run again
			h.Errorf("%d wait, of one ticket", n)
		}
		if n := h.enter(bob, epoch); n != 2 {
			h.Errorf("%d wait", n)
		}
		h.checkWhere("ada", lobby.Busy{Ticket: "t_ada"})
		h.checkWhere("nobody", lobby.Busy{})
		got, waits, err := h.Near(h.Context(), bob, nearest, epoch)
		if err != nil || !waits || len(got) != 1 || !reflect.DeepEqual(got[0], ada) {
			h.Errorf("%+v, %v, %v", got, waits, err)
		}
		second := ada
		second.ID = "t_second"
		if _, with, err := h.Enter(h.Context(), second, lobby.Busy{}, epoch+aliveMS); err != nil || with != (lobby.Busy{Ticket: "t_ada"}) {
			h.Errorf("a second ticket: %+v, %v", with, err)
		}
		if ttl := h.client.TTL(h.Context(), keys{h.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			h.Errorf("busy for %v", ttl)
		}
	})
}

// A player may join anew whose node has let the ticket expire, and then has one
// ticket.
func TestEnterAfterATicketThatHasExpired(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.ticket("ada", 1500)
		h.enter(ada, epoch)
		second := ada
		second.ID = "t_second"
		if n := h.enter(second, epoch+aliveMS+1); n != 1 {
			h.Errorf("%d wait", n)
		}
		h.checkWhere("ada", lobby.Busy{Ticket: "t_second"})
		if got := h.near(ada, epoch+aliveMS+1); got != nil {
			h.Errorf("the first waits among %v", got)
		}
		h.checkNear(h.entered("bob", epoch+aliveMS+1), epoch+aliveMS+1, "ada")
	})
}

func (h *hall) entered(player string, now int64) lobby.Ticket {
	h.Helper()
	t := h.ticket(player, 1500)
	h.enter(t, now)
	return t
}

func TestEnterAfterAMatch(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.entered("ada", epoch)
		if !h.pair("m_1", ada) {
			h.Fatal("not paired")
		}
		next := ada
		next.ID = "t_next"
		for _, former := range []lobby.Busy{{}, {Match: "m_0"}} {
			if _, with, err := h.Enter(h.Context(), next, former, epoch); err != nil || with != (lobby.Busy{Match: "m_1"}) {
				h.Errorf("former %+v: %+v, %v", former, with, err)
			}
		}
		if n, with, err := h.Enter(h.Context(), next, lobby.Busy{Match: "m_1"}, epoch); err != nil || with != (lobby.Busy{}) || n != 1 {
			h.Errorf("%d wait, %+v, %v", n, with, err)
		}
		h.checkWhere("ada", lobby.Busy{Ticket: "t_next"})
	})
}

// All that wait are listed, a slice at a time, the nearest by rating on either
// side first.
func TestNear(t *testing.T) {
	each(t, func(h *hall) {
		own := h.ticket("own", 1500.5)
		h.enter(own, epoch)
		const others = 84
		for i := range others {
			gap := float64(1 + i/2)
			if i%2 == 0 {
				gap = -gap
			}
			h.enter(h.ticket(fmt.Sprintf("p_%03d", i), 1500.5+gap), epoch)
		}
		listed := 0
		for s, want := range map[lobby.Slice]int{{Count: 4}: 7, {Skip: 4, Count: 28}: 56, {Skip: 32, Count: 32}: 21, {Skip: 64, Count: 32}: 0} {
			near, waits, err := h.Near(h.Context(), own, s, epoch)
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

// Looking after a ticket keeps its player busy for as long as it waits.
func TestNearKeepsBusy(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.entered("ada", epoch)
		busy := keys{h.game}.busy("ada")
		if err := h.client.PExpire(h.Context(), busy, time.Minute).Err(); err != nil {
			h.Fatal(err)
		}
		h.checkNear(ada, epoch)
		if ttl := h.client.TTL(h.Context(), busy).Val(); ttl < busyTTL-time.Minute {
			h.Errorf("busy for %v", ttl)
		}
	})
}

// A ticket that its node does not look after leaves once its time is up; one
// that is looked after stays.
func TestExpiredTicketsLeave(t *testing.T) {
	each(t, func(h *hall) {
		own, other := h.entered("own", epoch), h.entered("other", epoch)
		h.checkNear(own, epoch+aliveMS, "other")
		h.checkNear(other, epoch+aliveMS, "own")
		now := int64(epoch + 2*aliveMS)
		h.checkNear(own, now, "other")
		h.checkNear(own, now+1)
		if n := h.client.HLen(h.Context(), keys{h.game}.tickets()).Val(); n != 1 {
			h.Errorf("%d tickets are kept", n)
		}
		if h.pair("m_1", own, other) {
			h.Error("an expired ticket was paired")
		}
		// Its node was only slow: the ticket comes back, with its age.
		h.checkNear(other, now+2, "own")
		got, _, err := h.Near(h.Context(), own, nearest, now+2)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], other) {
			h.Errorf("%+v, %v", got, err)
		}
	})
}

// Tickets of a node that has died do not hide those who wait beyond them.
func TestExpiredTicketsHideNobody(t *testing.T) {
	each(t, func(h *hall) {
		own := h.ticket("own", 1500)
		h.enter(own, epoch)
		for i := range 12 {
			h.enter(h.ticket(fmt.Sprint("higher_", i), float64(1501+i)), epoch)
			h.enter(h.ticket(fmt.Sprint("lower_", i), float64(1499-i)), epoch)
		}
		now := int64(epoch + aliveMS + 1)
		for i, r := range []float64{1600, 1400} {
			h.enter(h.ticket(fmt.Sprint("waits_", i), r), now)
		}
		near, waits, err := h.Near(h.Context(), own, lobby.Slice{Count: 4}, now)
		if err != nil || !waits || len(near) != 2 {
			h.Errorf("%d tickets, %v, %v", len(near), waits, err)
		}
	})
}

// A ticket that has left for good does not come back.
func TestATicketThatHasLeftStaysAway(t *testing.T) {
	each(t, func(h *hall) {
		ada, bob := h.entered("ada", epoch), h.entered("bob", epoch)
		id, err := h.Leave(h.Context(), h.game, "ada")
		if err != nil || id != "t_ada" {
			h.Errorf("%q, %v", id, err)
		}
		if id, err := h.Leave(h.Context(), h.game, "ada"); err != nil || id != "" {
			h.Errorf("again: %q, %v", id, err)
		}
		if got := h.near(ada, epoch); got != nil {
			h.Errorf("it waits among %v", got)
		}
		h.checkNear(bob, epoch)
		if h.pair("m_1", bob, ada) {
			h.Error("it was paired")
		}
		h.checkWhere("bob", lobby.Busy{Ticket: "t_bob"})
		if !h.pair("m_2", bob) {
			h.Error("bob does not wait any more")
		}
		if got := h.near(bob, epoch); got != nil {
			h.Errorf("paired, and waits among %v", got)
		}
		if id, err := h.Leave(h.Context(), h.game, "bob"); err != nil || id != "" {
			h.Errorf("from a match: %q, %v", id, err)
		}
		h.checkWhere("bob", lobby.Busy{Match: "m_2", Forming: true})
	})
}

func TestPair(t *testing.T) {
	each(t, func(h *hall) {
		ada, bob, eve := h.entered("ada", epoch), h.entered("bob", epoch), h.entered("eve", epoch)
		for range 2 { // run again
			if !h.pair("m_1", ada, bob) {
				h.Error("not paired")
			}
		}
		if h.pair("m_2", bob, eve) || h.pair("m_2", eve, bob) {
			h.Error("bob was paired twice")
		}
		h.checkNear(eve, epoch)
		h.checkWhere("ada", lobby.Busy{Match: "m_1", Forming: true})
		h.checkWhere("bob", lobby.Busy{Match: "m_1", Forming: true})
		pairings, err := h.Pairings(h.Context(), h.game)
		if err != nil || len(pairings) != 1 || !reflect.DeepEqual(pairings[0], lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada, bob}}) {
			h.Errorf("%+v, %v", pairings, err)
		}
		for range 2 {
			if err := h.Done(h.Context(), pairings[0]); err != nil {
				h.Error(err)
			}
		}
		if n := h.client.ZCard(h.Context(), keys{h.game}.alive()).Val(); n != 1 {
			h.Errorf("%d tickets are alive", n)
		}
		h.checkWhere("ada", lobby.Busy{Match: "m_1"})
		if pairings, err := h.Pairings(h.Context(), h.game); err != nil || len(pairings) != 0 {
			h.Errorf("%+v, %v", pairings, err)
		}
		if ttl := h.client.TTL(h.Context(), keys{h.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			h.Errorf("busy for %v", ttl)
		}
	})
}

func TestGamesAreApart(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.entered("ada", epoch)
		other := *h
		other.game += ".other"
		other.checkWhere("ada", lobby.Busy{})
		other.checkNear(other.entered("bob", epoch), epoch)
		h.checkNear(ada, epoch)
	})
}

func TestATicketIsReadWhileItWaits(t *testing.T) {
	each(t, func(h *hall) {
		ada := h.ticket("ada", 1500)
		if _, waits, err := h.Ticket(h.Context(), h.game, ada.ID); waits || err != nil {
			h.Errorf("before it is there: %v, %v", waits, err)
		}
		h.enter(ada, epoch)
		if got, waits, err := h.Ticket(h.Context(), h.game, ada.ID); !waits || err != nil || !reflect.DeepEqual(got, ada) {
			h.Errorf("%+v, %v, %v; want %+v", got, waits, err, ada)
		}
		if paired, err := h.Pair(h.Context(), lobby.Pairing{Match: "m_1", At: epoch, Tickets: []lobby.Ticket{ada}}); !paired || err != nil {
			h.Fatal(paired, err)
		}
		if _, waits, err := h.Ticket(h.Context(), h.game, ada.ID); waits || err != nil {
			h.Errorf("once it is paired: %v, %v", waits, err)
		}
	})
}
