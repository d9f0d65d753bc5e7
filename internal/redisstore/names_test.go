package redisstore

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

// namesTest is a test and a store. Each namesTest has its own game.
type namesTest struct {
	*testing.T
	*Names
	game string
}

// testNames runs f on every kind of Redis.
func testNames(t *testing.T, run func(s *namesTest)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		run(&namesTest{T: t, Names: NewNames(client), game: "game." + ulid.Make().String()})
	})
}

func (s *namesTest) reserveFor(requester string, skeletons ...string) []bool {
	s.Helper()
	return s.reserve(identity.Reservation{Requester: requester, Skeletons: skeletons})
}

func (s *namesTest) reserve(reservation identity.Reservation) []bool {
	s.Helper()
	reservation.Game = s.game
	isReserved, err := s.Reserve(s.Context(), reservation)
	if err != nil {
		s.Fatal(err)
	}
	return isReserved
}

func (s *namesTest) reservedFor(skeleton string) string {
	s.Helper()
	requester, err := s.ReservedFor(s.Context(), s.game, skeleton)
	if err != nil {
		s.Fatal(err)
	}
	return requester
}

func TestANameIsReservedForOneRequester(t *testing.T) {
	testNames(t, func(test *namesTest) {
		if got := test.reserveFor("p:ada", "x", "y y"); !slices.Equal(got, []bool{true, true}) {
			test.Errorf("free names: %v", got)
		}
		if got := test.reserveFor("p:bob", "y y", "z"); !slices.Equal(got, []bool{false, true}) {
			test.Errorf("a reserved name and a free one: %v", got)
		}
		if got := test.reserveFor("p:ada", "x"); !slices.Equal(got, []bool{true}) {
			test.Errorf("the same name again: %v", got)
		}
		for skeleton, want := range map[string]string{"x": "p:ada", "y y": "p:ada", "z": "p:bob", "free": ""} {
			if got := test.reservedFor(skeleton); got != want {
				test.Errorf("%q is reserved for %q, want %q", skeleton, got, want)
			}
			ttl, err := test.client.PTTL(test.Context(), reservedNameKey(test.game, skeleton)).Result()
			if err != nil || want != "" && (ttl <= 0 || ttl > identity.ReservationTTL) {
				test.Errorf("%q is reserved for %v, %v", skeleton, ttl, err)
			}
		}
		if ttl, err := test.client.PTTL(test.Context(), requesterKey(test.game, "p:ada")).Result(); err != nil || ttl <= 0 || ttl > identity.ReservationTTL {
			test.Errorf("the list of the requester expires in %v, %v", ttl, err)
		}
		if other, err := test.ReservedFor(test.Context(), test.game+".other", "x"); err != nil || other != "" {
			test.Errorf("in another game it is reserved for %q, %v", other, err)
		}
	})
}

// If a requester has too many reservations, its oldest ones are released. Names that another
// requester has reserved since then stay reserved.
func TestTheOldestReservationsAreReleased(t *testing.T) {
	testNames(t, func(test *namesTest) {
		for i := range identity.MaxReserved + 2 {
			test.reserveFor("a:1", fmt.Sprint("n", i))
			if i == 0 { // the first reservation ends early, and another requester reserves the name
				if err := test.client.Del(test.Context(), reservedNameKey(test.game, "n0")).Err(); err != nil {
					test.Fatal(err)
				}
				test.reserveFor("a:2", "n0")
			}
		}
		for i, want := range map[int]string{0: "a:2", 1: "", 2: "a:1", identity.MaxReserved + 1: "a:1"} {
			if got := test.reservedFor(fmt.Sprint("n", i)); got != want {
				test.Errorf("name %d is reserved for %q, want %q", i, got, want)
			}
		}
	})
}

// Requesters that share an address get different names. Together they may reserve more names
// than one player.
func TestClientsWithOneAddressGetDifferentNames(t *testing.T) {
	testNames(t, func(test *namesTest) {
		reservation := identity.Reservation{Requester: "a:1", Shared: true, Skeletons: []string{"x", "y"}}
		if got := test.reserve(reservation); !slices.Equal(got, []bool{true, true}) {
			test.Errorf("free names: %v", got)
		}
		reservation.Skeletons = []string{"y", "z"}
		if got := test.reserve(reservation); !slices.Equal(got, []bool{false, true}) {
			test.Errorf("the next requester of the address: %v", got)
		}
		reservation.Skeletons = nil
		for i := range identity.MaxReservedShared {
			reservation.Skeletons = append(reservation.Skeletons, fmt.Sprint("n", i))
		}
		test.reserve(reservation)
		for name, want := range map[string]string{"x": "", "z": "", "n0": "a:1", reservation.Skeletons[identity.MaxReservedShared-1]: "a:1"} {
			if got := test.reservedFor(name); got != want {
				test.Errorf("%q is reserved for %q, want %q", name, got, want)
			}
		}
	})
}

// A reserved name is free again when the reservation ends.
func TestAReservedNameIsFreeAfterTheReservationEnds(t *testing.T) {
	testNames(t, func(test *namesTest) {
		test.ttl = 20 * time.Millisecond
		test.reserveFor("p:ada", "x")
		for test.reservedFor("x") != "" && test.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if got := test.reserveFor("p:bob", "x"); !slices.Equal(got, []bool{true}) {
			test.Errorf("a name whose reservation has ended: %v", got)
		}
	})
}

func TestOneOfManyRequestersGetsAName(t *testing.T) {
	testNames(t, func(test *namesTest) {
		winners := make([]bool, 20)
		var calls sync.WaitGroup
		for i := range winners {
			calls.Go(func() {
				isReserved, err := test.Reserve(test.Context(), identity.Reservation{Game: test.game, Requester: fmt.Sprint("p:", i), Skeletons: []string{"x"}})
				if err != nil {
					test.Error(err)
					return
				}
				winners[i] = isReserved[0]
			})
		}
		calls.Wait()
		if i := slices.Index(winners, true); i < 0 || slices.Contains(winners[i+1:], true) || test.reservedFor("x") != fmt.Sprint("p:", i) {
			test.Errorf("reserved for %v, and the store returns %q", winners, test.reservedFor("x"))
		}
	})
}

func TestReservationsFailWhileRedisIsUnreachable(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	store := NewNames(client)
	if _, err := store.Reserve(t.Context(), identity.Reservation{Game: "demo", Requester: "p:ada", Skeletons: []string{"x"}}); err == nil {
		t.Error("Reserve succeeded without a Redis")
	}
	if _, err := store.ReservedFor(t.Context(), "demo", "x"); err == nil {
		t.Error("ReservedFor succeeded without a Redis")
	}
}
