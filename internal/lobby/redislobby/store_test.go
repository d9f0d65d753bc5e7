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

const startMS = 1_795_212_345_678

// allTickets is a slice that covers all tickets of most tests.
var allTickets = lobby.Slice{Count: 32}

// lobbyFixture is a test with a game of its own in Redis.
type lobbyFixture struct {
	*testing.T
	*Store
	client redis.UniversalClient
	game   string
}

func eachRedis(t *testing.T, f func(test *lobbyFixture)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		f(&lobbyFixture{T: t, Store: New(c), client: c, game: "game." + ulid.Make().String()})
	})
}

func (l *lobbyFixture) ticket(player string, r float64) lobby.Ticket {
	return lobby.Ticket{
		ID: "t_" + player, Game: l.game, JoinedAt: startMS, BotAt: startMS + 8000, Filter: lobby.Filter{Lang: "zh-CN"},
		Seat: match.Seat{Player: player, Nickname: "猫 \"" + player + "\"", Rating: &rating.Rating{R: r, RD: 80.25, Sigma: 0.06}},
	}
}

// addTicket adds a ticket, which must be accepted.
func (l *lobbyFixture) addTicket(t lobby.Ticket, now int64) int64 {
	l.Helper()
	waiting, with, err := l.AddTicket(l.Context(), t, lobby.Activity{}, now)
	if err != nil || with != (lobby.Activity{}) {
		l.Fatalf("%s: busy with %+v, %v", t.ID, with, err)
	}
	return waiting
}

// listPlayers returns the sorted players of the listed tickets; nil if the ticket
// itself does not wait.
func (l *lobbyFixture) listPlayers(t lobby.Ticket, now int64) []string {
	l.Helper()
	tickets, waits, err := l.ListNearest(l.Context(), t, allTickets, now)
	if err != nil || !waits && len(tickets) > 0 {
		l.Fatalf("%v, %d, %v", waits, len(tickets), err)
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

func (l *lobbyFixture) checkNearest(t lobby.Ticket, now int64, want ...string) {
	l.Helper()
	if got := l.listPlayers(t, now); !slices.Equal(got, want) {
		l.Errorf("tickets near %s: %v, want %v", t.ID, got, want)
	}
}

func (l *lobbyFixture) checkActivity(player string, want lobby.Activity) {
	l.Helper()
	got, err := l.ReadActivity(l.Context(), l.game, player)
	if want.Duel == "" {
		got.Duel = "" // TestLastDuelIsStoredUntilItIsSettled checks it
	}
	if err != nil || got != want {
		l.Errorf("%s is busy with %+v, %v, want %+v", player, got, err, want)
	}
}

func (l *lobbyFixture) pair(id string, tickets ...lobby.Ticket) bool {
	l.Helper()
	won, err := l.Pair(l.Context(), lobby.Pairing{Match: id, PairedAt: startMS, Tickets: tickets})
	if err != nil {
		l.Fatal(err)
	}
	return won
}

func TestAddTicketRefusesASecondTicket(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada, bob := test.ticket("ada", 1500), test.ticket("bob", 1500)
		if n := test.addTicket(ada, startMS); n != 1 {
			test.Errorf("%d wait", n)
		}
		if n := test.addTicket(ada, startMS); n != 1 { // run again
			test.Errorf("%d wait after the same ticket was added twice", n)
		}
		if n := test.addTicket(bob, startMS); n != 2 {
			test.Errorf("%d wait", n)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		test.checkActivity("nobody", lobby.Activity{})
		got, waits, err := test.ListNearest(test.Context(), bob, allTickets, startMS)
		if err != nil || !waits || len(got) != 1 || !reflect.DeepEqual(got[0], ada) {
			test.Errorf("%+v, %v, %v", got, waits, err)
		}
		second := ada
		second.ID = "t_second"
		if _, with, err := test.AddTicket(test.Context(), second, lobby.Activity{}, startMS+ticketAliveMS); err != nil || with != (lobby.Activity{Ticket: "t_ada"}) {
			test.Errorf("a second ticket: %+v, %v", with, err)
		}
		if ttl := test.client.TTL(test.Context(), keys{test.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			test.Errorf("busy for %v", ttl)
		}
	})
}

// A player whose ticket has expired may join again, and then has one ticket.
func TestAddTicketAfterAnExpiredTicket(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada := test.ticket("ada", 1500)
		test.addTicket(ada, startMS)
		second := ada
		second.ID = "t_second"
		if n := test.addTicket(second, startMS+ticketAliveMS+1); n != 1 {
			test.Errorf("%d wait", n)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_second"})
		if got := test.listPlayers(ada, startMS+ticketAliveMS+1); got != nil {
			test.Errorf("the first waits among %v", got)
		}
		test.checkNearest(test.addedTicket("bob", startMS+ticketAliveMS+1), startMS+ticketAliveMS+1, "ada")
	})
}

func (l *lobbyFixture) addedTicket(player string, now int64) lobby.Ticket {
	l.Helper()
	t := l.ticket(player, 1500)
	l.addTicket(t, now)
	return t
}

func TestAddTicketAfterAMatch(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada := test.addedTicket("ada", startMS)
		if !test.pair("m_1", ada) {
			test.Fatal("not paired")
		}
		next := ada
		next.ID = "t_next"
		for _, former := range []lobby.Activity{{}, {Match: "m_0"}} {
			if _, with, err := test.AddTicket(test.Context(), next, former, startMS); err != nil || with != (lobby.Activity{Match: "m_1"}) {
				test.Errorf("former %+v: %+v, %v", former, with, err)
			}
		}
		if n, with, err := test.AddTicket(test.Context(), next, lobby.Activity{Match: "m_1"}, startMS); err != nil || with != (lobby.Activity{}) || n != 1 {
			test.Errorf("%d wait, %+v, %v", n, with, err)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_next"})
	})
}

// All waiting tickets are listed slice by slice, the nearest rating on each
// side first.
func TestListNearestListsSlicesByRating(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		own := test.ticket("own", 1500.5)
		test.addTicket(own, startMS)
		const others = 84
		for i := range others {
			gap := float64(1 + i/2)
			if i%2 == 0 {
				gap = -gap
			}
			test.addTicket(test.ticket(fmt.Sprintf("p_%03d", i), 1500.5+gap), startMS)
		}
		listed := 0
		for s, want := range map[lobby.Slice]int{{Count: 4}: 7, {Skip: 4, Count: 28}: 56, {Skip: 32, Count: 32}: 21, {Skip: 64, Count: 32}: 0} {
			near, waits, err := test.ListNearest(test.Context(), own, s, startMS)
			if err != nil || !waits || len(near) != want {
				test.Errorf("slice %+v: %d tickets, %v, %v, want %d", s, len(near), waits, err, want)
			}
			for _, t := range near {
				if gap := math.Abs(t.Rating() - own.Rating()); gap < float64(s.Skip) || gap > float64(s.Skip+s.Count) {
					test.Errorf("%s is in slice %+v, %g away", t.ID, s, gap)
				}
			}
			listed += len(near)
		}
		if listed != others {
			test.Errorf("%d of %d are listed", listed, others)
		}
	})
}

// Renewing a ticket keeps its player's activity for as long as the ticket
// waits.
func TestListNearestRenewsTheActivity(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada := test.addedTicket("ada", startMS)
		busy := keys{test.game}.busy("ada")
		if err := test.client.PExpire(test.Context(), busy, time.Minute).Err(); err != nil {
			test.Fatal(err)
		}
		test.checkNearest(ada, startMS)
		if ttl := test.client.TTL(test.Context(), busy).Val(); ttl < busyTTL-time.Minute {
			test.Errorf("busy for %v", ttl)
		}
	})
}

// A ticket that its node does not renew is removed when it expires. A renewed
// one stays.
func TestExpiredTicketsAreRemoved(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		own, other := test.addedTicket("own", startMS), test.addedTicket("other", startMS)
		test.checkNearest(own, startMS+ticketAliveMS, "other")
		test.checkNearest(other, startMS+ticketAliveMS, "own")
		now := int64(startMS + 2*ticketAliveMS)
		test.checkNearest(own, now, "other")
		test.checkNearest(own, now+1)
		if n := test.client.HLen(test.Context(), keys{test.game}.tickets()).Val(); n != 1 {
			test.Errorf("%d tickets are kept", n)
		}
		if test.pair("m_1", own, other) {
			test.Error("an expired ticket was paired")
		}
		// The node was only slow: the ticket comes back with its age.
		test.checkNearest(other, now+2, "own")
		got, _, err := test.ListNearest(test.Context(), own, allTickets, now+2)
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], other) {
			test.Errorf("%+v, %v", got, err)
		}
	})
}

// Tickets of a dead node do not hide the waiting tickets behind them.
func TestExpiredTicketsDoNotHideWaitingTickets(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		own := test.ticket("own", 1500)
		test.addTicket(own, startMS)
		for i := range 12 {
			test.addTicket(test.ticket(fmt.Sprint("higher_", i), float64(1501+i)), startMS)
			test.addTicket(test.ticket(fmt.Sprint("lower_", i), float64(1499-i)), startMS)
		}
		now := int64(startMS + ticketAliveMS + 1)
		for i, r := range []float64{1600, 1400} {
			test.addTicket(test.ticket(fmt.Sprint("waits_", i), r), now)
		}
		near, waits, err := test.ListNearest(test.Context(), own, lobby.Slice{Count: 4}, now)
		if err != nil || !waits || len(near) != 2 {
			test.Errorf("%d tickets, %v, %v", len(near), waits, err)
		}
	})
}

// A removed ticket does not come back.
func TestARemovedTicketIsNotAddedAgain(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada, bob := test.addedTicket("ada", startMS), test.addedTicket("bob", startMS)
		id, err := test.RemoveTicket(test.Context(), test.game, "ada")
		if err != nil || id != "t_ada" {
			test.Errorf("%q, %v", id, err)
		}
		if id, err := test.RemoveTicket(test.Context(), test.game, "ada"); err != nil || id != "" {
			test.Errorf("again: %q, %v", id, err)
		}
		if got := test.listPlayers(ada, startMS); got != nil {
			test.Errorf("the removed ticket waits among %v", got)
		}
		test.checkNearest(bob, startMS)
		if test.pair("m_1", bob, ada) {
			test.Error("the removed ticket was paired")
		}
		test.checkActivity("bob", lobby.Activity{Ticket: "t_bob"})
		if !test.pair("m_2", bob) {
			test.Error("bob does not wait any more")
		}
		if got := test.listPlayers(bob, startMS); got != nil {
			test.Errorf("the paired ticket waits among %v", got)
		}
		if id, err := test.RemoveTicket(test.Context(), test.game, "bob"); err != nil || id != "" {
			test.Errorf("from a match: %q, %v", id, err)
		}
		test.checkActivity("bob", lobby.Activity{Match: "m_2", Forming: true})
	})
}

func TestPairMovesWaitingTickets(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada, bob, eve := test.addedTicket("ada", startMS), test.addedTicket("bob", startMS), test.addedTicket("eve", startMS)
		for range 2 { // run again
			if !test.pair("m_1", ada, bob) {
				test.Error("not paired")
			}
		}
		if test.pair("m_2", bob, eve) || test.pair("m_2", eve, bob) {
			test.Error("bob was paired twice")
		}
		test.checkNearest(eve, startMS)
		test.checkActivity("ada", lobby.Activity{Match: "m_1", Forming: true})
		test.checkActivity("bob", lobby.Activity{Match: "m_1", Forming: true})
		pairings, err := test.ListPairings(test.Context(), test.game)
		if err != nil || len(pairings) != 1 || !reflect.DeepEqual(pairings[0], lobby.Pairing{Match: "m_1", PairedAt: startMS, Tickets: []lobby.Ticket{ada, bob}}) {
			test.Errorf("%+v, %v", pairings, err)
		}
		for range 2 {
			if err := test.CompletePairing(test.Context(), pairings[0]); err != nil {
				test.Error(err)
			}
		}
		if n := test.client.ZCard(test.Context(), keys{test.game}.alive()).Val(); n != 1 {
			test.Errorf("%d tickets are alive", n)
		}
		test.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if pairings, err := test.ListPairings(test.Context(), test.game); err != nil || len(pairings) != 0 {
			test.Errorf("%+v, %v", pairings, err)
		}
		if ttl := test.client.TTL(test.Context(), keys{test.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			test.Errorf("busy for %v", ttl)
		}
	})
}

func TestGamesHaveSeparateTickets(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada := test.addedTicket("ada", startMS)
		other := *test
		other.game += ".other"
		other.checkActivity("ada", lobby.Activity{})
		other.checkNearest(other.addedTicket("bob", startMS), startMS)
		test.checkNearest(ada, startMS)
	})
}

func TestATicketIsReadWhileItWaits(t *testing.T) {
	eachRedis(t, func(test *lobbyFixture) {
		ada := test.ticket("ada", 1500)
		if _, waits, err := test.ReadTicket(test.Context(), test.game, ada.ID); waits || err != nil {
			test.Errorf("before it is added: %v, %v", waits, err)
		}
		test.addTicket(ada, startMS)
		if got, waits, err := test.ReadTicket(test.Context(), test.game, ada.ID); !waits || err != nil || !reflect.DeepEqual(got, ada) {
			test.Errorf("%+v, %v, %v; want %+v", got, waits, err, ada)
		}
		if paired, err := test.Pair(test.Context(), lobby.Pairing{Match: "m_1", PairedAt: startMS, Tickets: []lobby.Ticket{ada}}); !paired || err != nil {
			test.Fatal(paired, err)
		}
		if _, waits, err := test.ReadTicket(test.Context(), test.game, ada.ID); waits || err != nil {
			test.Errorf("after it is paired: %v, %v", waits, err)
		}
	})
}
