package redisnames

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

func TestMain(m *testing.M) { testenv.Main(m) }

// fixture is a test and a store. Each fixture has its own game.
type fixture struct {
	*testing.T
	*Store
	game string
}

// eachRedis runs f on every kind of Redis.
func eachRedis(t *testing.T, f func(s *fixture)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		f(&fixture{T: t, Store: New(c), game: "game." + ulid.Make().String()})
	})
}

func (s *fixture) reserveFor(requester string, skeletons ...string) []bool {
	s.Helper()
	return s.reserve(identity.Reservation{Requester: requester, Skeletons: skeletons})
}

func (s *fixture) reserve(reservation identity.Reservation) []bool {
	s.Helper()
	reservation.Game = s.game
	isReserved, err := s.Reserve(s.Context(), reservation)
	if err != nil {
		s.Fatal(err)
	}
	return isReserved
}

func (s *fixture) reservedFor(skeleton string) string {
	s.Helper()
	requester, err := s.ReservedFor(s.Context(), s.game, skeleton)
	if err != nil {
		s.Fatal(err)
	}
	return requester
}

func TestANameIsReservedForOneRequester(t *testing.T) {
	eachRedis(t, func(s *fixture) {
		if got := s.reserveFor("p:ada", "x", "y y"); !slices.Equal(got, []bool{true, true}) {
			s.Errorf("free names: %v", got)
		}
		if got := s.reserveFor("p:bob", "y y", "z"); !slices.Equal(got, []bool{false, true}) {
			s.Errorf("a reserved name and a free one: %v", got)
		}
		if got := s.reserveFor("p:ada", "x"); !slices.Equal(got, []bool{true}) {
			s.Errorf("the same name again: %v", got)
		}
		for skeleton, want := range map[string]string{"x": "p:ada", "y y": "p:ada", "z": "p:bob", "free": ""} {
			if got := s.reservedFor(skeleton); got != want {
				s.Errorf("%q is reserved for %q, want %q", skeleton, got, want)
			}
			ttl, err := s.client.PTTL(s.Context(), reservedKey(s.game, skeleton)).Result()
			if err != nil || want != "" && (ttl <= 0 || ttl > identity.ReservationTTL) {
				s.Errorf("%q is reserved for %v, %v", skeleton, ttl, err)
			}
		}
		if ttl, err := s.client.PTTL(s.Context(), requesterKey(s.game, "p:ada")).Result(); err != nil || ttl <= 0 || ttl > identity.ReservationTTL {
			s.Errorf("the list of the requester expires in %v, %v", ttl, err)
		}
		if other, err := s.ReservedFor(s.Context(), s.game+".other", "x"); err != nil || other != "" {
			s.Errorf("in another game it is reserved for %q, %v", other, err)
		}
	})
}

// If a requester has too many reservations, its oldest ones are released. Names that another
// requester has reserved since then stay reserved.
func TestTheOldestReservationsAreReleased(t *testing.T) {
	eachRedis(t, func(s *fixture) {
		for i := range identity.MaxReserved + 2 {
			s.reserveFor("a:1", fmt.Sprint("n", i))
			if i == 0 { // the first reservation ends early, and another requester reserves the name
				if err := s.client.Del(s.Context(), reservedKey(s.game, "n0")).Err(); err != nil {
					s.Fatal(err)
				}
				s.reserveFor("a:2", "n0")
			}
		}
		for i, want := range map[int]string{0: "a:2", 1: "", 2: "a:1", identity.MaxReserved + 1: "a:1"} {
			if got := s.reservedFor(fmt.Sprint("n", i)); got != want {
				s.Errorf("name %d is reserved for %q, want %q", i, got, want)
			}
		}
	})
}

// Requesters that share an address get different names. Together they may reserve more names
// than one player.
func TestClientsWithOneAddressGetDifferentNames(t *testing.T) {
	eachRedis(t, func(s *fixture) {
		school := identity.Reservation{Requester: "a:1", Shared: true, Skeletons: []string{"x", "y"}}
		if got := s.reserve(school); !slices.Equal(got, []bool{true, true}) {
			s.Errorf("free names: %v", got)
		}
		school.Skeletons = []string{"y", "z"}
		if got := s.reserve(school); !slices.Equal(got, []bool{false, true}) {
			s.Errorf("the next requester of the address: %v", got)
		}
		school.Skeletons = nil
		for i := range identity.MaxReservedShared {
			school.Skeletons = append(school.Skeletons, fmt.Sprint("n", i))
		}
		s.reserve(school)
		for name, want := range map[string]string{"x": "", "z": "", "n0": "a:1", school.Skeletons[identity.MaxReservedShared-1]: "a:1"} {
			if got := s.reservedFor(name); got != want {
				s.Errorf("%q is reserved for %q, want %q", name, got, want)
			}
		}
	})
}

// A reserved name is free again when the reservation ends.
func TestReservationsEnd(t *testing.T) {
	eachRedis(t, func(s *fixture) {
		s.ttl = 20 * time.Millisecond
		s.reserveFor("p:ada", "x")
		for s.reservedFor("x") != "" && s.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if got := s.reserveFor("p:bob", "x"); !slices.Equal(got, []bool{true}) {
			s.Errorf("a name whose reservation has ended: %v", got)
		}
	})
}

func TestOneOfManyRequestersGetsAName(t *testing.T) {
	eachRedis(t, func(s *fixture) {
		winners := make([]bool, 20)
		var calls sync.WaitGroup
		for i := range winners {
			calls.Go(func() {
				isReserved, err := s.Reserve(s.Context(), identity.Reservation{Game: s.game, Requester: fmt.Sprint("p:", i), Skeletons: []string{"x"}})
				if err != nil {
					s.Error(err)
					return
				}
				winners[i] = isReserved[0]
			})
		}
		calls.Wait()
		if i := slices.Index(winners, true); i < 0 || slices.Contains(winners[i+1:], true) || s.reservedFor("x") != fmt.Sprint("p:", i) {
			s.Errorf("reserved for %v, and the store returns %q", winners, s.reservedFor("x"))
		}
	})
}

func TestErrorsWhileRedisIsUnreachable(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	s := New(client)
	if _, err := s.Reserve(t.Context(), identity.Reservation{Game: "demo", Requester: "p:ada", Skeletons: []string{"x"}}); err == nil {
		t.Error("Reserve succeeded without a Redis")
	}
	if _, err := s.ReservedFor(t.Context(), "demo", "x"); err == nil {
		t.Error("ReservedFor succeeded without a Redis")
	}
}
