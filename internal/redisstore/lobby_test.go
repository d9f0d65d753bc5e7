package redisstore

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
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

// allTickets is a slice that covers all tickets of most tests.
var allTickets = lobby.Slice{Count: 32}

// lobbyTest is a test with a game of its own in Redis.
type lobbyTest struct {
	*testing.T
	*Lobby
	client redis.UniversalClient
	game   string
}

func testLobby(t *testing.T, f func(test *lobbyTest)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		f(&lobbyTest{T: t, Lobby: NewLobby(client), client: client, game: "game." + ulid.Make().String()})
	})
}

func (l *lobbyTest) newTicket(player string, ratingPoints float64) lobby.Ticket {
	return lobby.Ticket{
		ID: "t_" + player, Game: l.game, JoinedAt: epoch, BotAt: epoch + 8000, Filter: quiz.Filter{Lang: "zh-CN"},
		Seat: match.Seat{Player: player, Nickname: "猫 \"" + player + "\"", Rating: &match.Rating{R: ratingPoints, RD: 80.25, Sigma: 0.06}},
	}
}

// mustAddTicket adds a ticket, which must be accepted.
func (l *lobbyTest) mustAddTicket(t lobby.Ticket, now int64) int64 {
	l.Helper()
	listing, err := l.AddTicket(l.Context(), t, lobby.Activity{}, now)
	if err != nil || listing.Activity != (lobby.Activity{Ticket: t.ID}) {
		l.Fatalf("%s: %+v, %v", t.ID, listing, err)
	}
	return listing.Waiting
}

// nearestPlayers returns the sorted players of the listed tickets; nil if the ticket
// itself does not wait.
func (l *lobbyTest) nearestPlayers(t lobby.Ticket, now int64) []string {
	l.Helper()
	listing, err := l.ListNearest(l.Context(), t, allTickets, now)
	isWaiting := listing.Activity.Ticket == t.ID
	if err != nil || !isWaiting && (listing.Waiting > 0 || len(listing.Nearest) > 0) {
		l.Fatalf("%+v, %v", listing, err)
	}
	if !isWaiting {
		return nil
	}
	players := make([]string, 0, len(listing.Nearest))
	for _, near := range listing.Nearest {
		players = append(players, l.decode(near).Seat.Player)
	}
	slices.Sort(players)
	return players
}

func (l *lobbyTest) checkNearest(t lobby.Ticket, now int64, want ...string) {
	l.Helper()
	if got := l.nearestPlayers(t, now); !slices.Equal(got, want) {
		l.Errorf("tickets near %s: %v, want %v", t.ID, got, want)
	}
}

// checkListing checks that a ticket waits and that one other ticket is near it.
func (l *lobbyTest) checkListing(t lobby.Ticket, now int64, other lobby.Ticket) {
	l.Helper()
	got, err := l.ListNearest(l.Context(), t, allTickets, now)
	if err != nil || got.Activity != (lobby.Activity{Ticket: t.ID}) || got.Waiting != 2 || len(got.Nearest) != 1 {
		l.Fatalf("%+v, %v", got, err)
	}
	if listed := got.Nearest[0]; listed.ID != other.ID || listed.Rating != other.Rating() || !reflect.DeepEqual(l.decode(listed), other) {
		l.Errorf("%+v is listed, want %+v", listed, other)
	}
}

// decode returns a listed ticket.
func (l *lobbyTest) decode(listed lobby.ListedTicket) lobby.Ticket {
	l.Helper()
	t, err := listed.Decode()
	if err != nil {
		l.Error(err)
	}
	return t
}

func (l *lobbyTest) checkActivity(player string, want lobby.Activity) {
	l.Helper()
	got, err := l.ReadActivity(l.Context(), l.game, player)
	if want.Duel == "" {
		got.Duel = "" // TestLastDuelIsStoredUntilItIsSettled checks it
	}
	if err != nil || got != want {
		l.Errorf("%s is busy with %+v, %v, want %+v", player, got, err, want)
	}
}

func (l *lobbyTest) pair(id string, tickets ...lobby.Ticket) bool {
	l.Helper()
	isPaired, err := l.Pair(l.Context(), lobby.Pairing{Match: id, PairedAt: epoch, Tickets: tickets})
	if err != nil {
		l.Fatal(err)
	}
	return isPaired
}

func TestAddTicketRefusesSecondTicket(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada, bob := test.newTicket("ada", 1500), test.newTicket("bob", 1500)
		if n := test.mustAddTicket(ada, epoch); n != 1 {
			test.Errorf("%d wait", n)
		}
		if n := test.mustAddTicket(ada, epoch); n != 1 { // run again
			test.Errorf("%d wait after the same ticket was added twice", n)
		}
		if n := test.mustAddTicket(bob, epoch); n != 2 {
			test.Errorf("%d wait", n)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_ada"})
		test.checkActivity("nobody", lobby.Activity{})
		test.checkListing(bob, epoch, ada)
		second := ada
		second.ID = "t_second"
		if listing, err := test.AddTicket(test.Context(), second, lobby.Activity{}, epoch+ticketAliveMS); err != nil || !reflect.DeepEqual(listing, lobby.Listing{Activity: lobby.Activity{Ticket: "t_ada"}}) {
			test.Errorf("a second ticket: %+v, %v", listing, err)
		}
		if ttl := test.client.TTL(test.Context(), lobbyKeys{test.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			test.Errorf("busy for %v", ttl)
		}
	})
}

// A player whose ticket has expired may join again, and then has one ticket.
func TestExpiredTicketAllowsNewTicket(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.newTicket("ada", 1500)
		test.mustAddTicket(ada, epoch)
		second := ada
		second.ID = "t_second"
		if n := test.mustAddTicket(second, epoch+ticketAliveMS+1); n != 1 {
			test.Errorf("%d wait", n)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_second"})
		if got := test.nearestPlayers(ada, epoch+ticketAliveMS+1); got != nil {
			test.Errorf("the first waits among %v", got)
		}
		test.checkNearest(test.addTicketFor("bob", epoch+ticketAliveMS+1), epoch+ticketAliveMS+1, "ada")
	})
}

func (l *lobbyTest) addTicketFor(player string, now int64) lobby.Ticket {
	l.Helper()
	t := l.newTicket(player, 1500)
	l.mustAddTicket(t, now)
	return t
}

func TestOnlyFormerMatchAllowsTicket(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.addTicketFor("ada", epoch)
		if !test.pair("m_1", ada) {
			test.Fatal("not paired")
		}
		next := ada
		next.ID = "t_next"
		for _, former := range []lobby.Activity{{}, {Match: "m_0"}} {
			if listing, err := test.AddTicket(test.Context(), next, former, epoch); err != nil || listing.Activity != (lobby.Activity{Match: "m_1", Forming: true}) {
				test.Errorf("former %+v: %+v, %v", former, listing, err)
			}
		}
		if listing, err := test.AddTicket(test.Context(), next, lobby.Activity{Match: "m_1"}, epoch); err != nil || listing.Activity != (lobby.Activity{Ticket: next.ID}) || listing.Waiting != 1 {
			test.Errorf("%+v, %v", listing, err)
		}
		test.checkActivity("ada", lobby.Activity{Ticket: "t_next"})
	})
}

// All waiting tickets are listed slice by slice, the nearest rating on each
// side first.
func TestListNearestListsSlicesByRating(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		own := test.newTicket("own", 1500.5)
		test.mustAddTicket(own, epoch)
		const others = 84
		for i := range others {
			gap := float64(1 + i/2)
			if i%2 == 0 {
				gap = -gap
			}
			test.mustAddTicket(test.newTicket(fmt.Sprintf("p_%03d", i), 1500.5+gap), epoch)
		}
		listed := 0
		for slice, want := range map[lobby.Slice]int{{Count: 4}: 7, {Skip: 4, Count: 28}: 56, {Skip: 32, Count: 32}: 21, {Skip: 64, Count: 32}: 0} {
			listing, err := test.ListNearest(test.Context(), own, slice, epoch)
			near := listing.Nearest
			if err != nil || listing.Waiting != others+1 || len(near) != want {
				test.Errorf("slice %+v: %d tickets, %v, %v, want %d", slice, len(near), listing.Waiting, err, want)
			}
			for _, t := range near {
				if gap := math.Abs(t.Rating - own.Rating()); gap < float64(slice.Skip) || gap > float64(slice.Skip+slice.Count) {
					test.Errorf("%s is in slice %+v, %g away", t.ID, slice, gap)
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
	testLobby(t, func(test *lobbyTest) {
		ada := test.addTicketFor("ada", epoch)
		busy := lobbyKeys{test.game}.busy("ada")
		testenv.NoError(test.T, test.client.PExpire(test.Context(), busy, time.Minute).Err())
		test.checkNearest(ada, epoch)
		if ttl := test.client.TTL(test.Context(), busy).Val(); ttl < busyTTL-time.Minute {
			test.Errorf("busy for %v", ttl)
		}
	})
}

// A ticket that its node does not renew is removed when it expires. A renewed
// one stays.
func TestExpiredTicketsAreRemoved(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		own, other := test.addTicketFor("own", epoch), test.addTicketFor("other", epoch)
		test.checkNearest(own, epoch+ticketAliveMS, "other")
		test.checkNearest(other, epoch+ticketAliveMS, "own")
		now := int64(epoch + 2*ticketAliveMS)
		test.checkNearest(own, now, "other")
		test.checkNearest(own, now+1)
		if n := test.client.HLen(test.Context(), lobbyKeys{test.game}.tickets()).Val(); n != 1 {
			test.Errorf("%d tickets are kept", n)
		}
		if test.pair("m_1", own, other) {
			test.Error("an expired ticket was paired")
		}
		// The node was only slow: the ticket comes back with its age.
		test.checkNearest(other, now+2, "own")
		test.checkListing(own, now+2, other)
	})
}

// Tickets of a dead node do not hide the waiting tickets behind them.
func TestExpiredTicketsDoNotHideWaitingTickets(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		own := test.newTicket("own", 1500)
		test.mustAddTicket(own, epoch)
		for i := range 12 {
			test.mustAddTicket(test.newTicket(fmt.Sprint("higher_", i), float64(1501+i)), epoch)
			test.mustAddTicket(test.newTicket(fmt.Sprint("lower_", i), float64(1499-i)), epoch)
		}
		now := int64(epoch + ticketAliveMS + 1)
		for i, points := range []float64{1600, 1400} {
			test.mustAddTicket(test.newTicket(fmt.Sprint("waits_", i), points), now)
		}
		listing, err := test.ListNearest(test.Context(), own, lobby.FirstSlice, now)
		if err != nil || len(listing.Nearest) != 2 {
			test.Errorf("%+v, %v", listing, err)
		}
	})
}

// A removed ticket does not come back.
func TestRemovedTicketIsNotAddedAgain(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada, bob := test.addTicketFor("ada", epoch), test.addTicketFor("bob", epoch)
		id, err := test.RemoveTicket(test.Context(), test.game, "ada")
		if err != nil || id != "t_ada" {
			test.Errorf("%q, %v", id, err)
		}
		if id, err := test.RemoveTicket(test.Context(), test.game, "ada"); err != nil || id != "" {
			test.Errorf("again: %q, %v", id, err)
		}
		if got := test.nearestPlayers(ada, epoch); got != nil {
			test.Errorf("the removed ticket waits among %v", got)
		}
		test.checkNearest(bob, epoch)
		if test.pair("m_1", bob, ada) {
			test.Error("the removed ticket was paired")
		}
		test.checkActivity("bob", lobby.Activity{Ticket: "t_bob"})
		if !test.pair("m_2", bob) {
			test.Error("bob does not wait any more")
		}
		if got := test.nearestPlayers(bob, epoch); got != nil {
			test.Errorf("the paired ticket waits among %v", got)
		}
		if id, err := test.RemoveTicket(test.Context(), test.game, "bob"); err != nil || id != "" {
			test.Errorf("from a match: %q, %v", id, err)
		}
		test.checkActivity("bob", lobby.Activity{Match: "m_2", Forming: true})
	})
}

func TestPairMovesWaitingTickets(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada, bob, eve := test.addTicketFor("ada", epoch), test.addTicketFor("bob", epoch), test.addTicketFor("eve", epoch)
		for range 2 { // run again
			if !test.pair("m_1", ada, bob) {
				test.Error("not paired")
			}
		}
		if test.pair("m_2", bob, eve) || test.pair("m_2", eve, bob) {
			test.Error("bob was paired twice")
		}
		test.checkNearest(eve, epoch)
		test.checkActivity("ada", lobby.Activity{Match: "m_1", Forming: true})
		test.checkActivity("bob", lobby.Activity{Match: "m_1", Forming: true})
		pairings, err := test.ListPairings(test.Context(), test.game)
		if err != nil || len(pairings) != 1 || !reflect.DeepEqual(pairings[0], lobby.Pairing{Match: "m_1", PairedAt: epoch, Tickets: []lobby.Ticket{ada, bob}}) {
			test.Errorf("%+v, %v", pairings, err)
		}
		for range 2 {
			if err := test.CompletePairing(test.Context(), pairings[0]); err != nil {
				test.Error(err)
			}
		}
		if n := test.client.ZCard(test.Context(), lobbyKeys{test.game}.alive()).Val(); n != 1 {
			test.Errorf("%d tickets are alive", n)
		}
		test.checkActivity("ada", lobby.Activity{Match: "m_1"})
		if pairings, err := test.ListPairings(test.Context(), test.game); err != nil || len(pairings) != 0 {
			test.Errorf("%+v, %v", pairings, err)
		}
		if ttl := test.client.TTL(test.Context(), lobbyKeys{test.game}.busy("ada")).Val(); ttl <= 0 || ttl > busyTTL {
			test.Errorf("busy for %v", ttl)
		}
	})
}

func TestGamesHaveSeparateTickets(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.addTicketFor("ada", epoch)
		other := *test
		other.game += ".other"
		other.checkActivity("ada", lobby.Activity{})
		other.checkNearest(other.addTicketFor("bob", epoch), epoch)
		test.checkNearest(ada, epoch)
	})
}

func TestTicketIsReadWhileItWaits(t *testing.T) {
	testLobby(t, func(test *lobbyTest) {
		ada := test.newTicket("ada", 1500)
		if _, isWaiting, err := test.ReadTicket(test.Context(), test.game, ada.ID); isWaiting || err != nil {
			test.Errorf("before it is added: %v, %v", isWaiting, err)
		}
		test.mustAddTicket(ada, epoch)
		if got, isWaiting, err := test.ReadTicket(test.Context(), test.game, ada.ID); !isWaiting || err != nil || !reflect.DeepEqual(got, ada) {
			test.Errorf("%+v, %v, %v; want %+v", got, isWaiting, err, ada)
		}
		if paired, err := test.Pair(test.Context(), lobby.Pairing{Match: "m_1", PairedAt: epoch, Tickets: []lobby.Ticket{ada}}); !paired || err != nil {
			test.Fatal(paired, err)
		}
		if _, isWaiting, err := test.ReadTicket(test.Context(), test.game, ada.ID); isWaiting || err != nil {
			test.Errorf("after it is paired: %v, %v", isWaiting, err)
		}
	})
}
