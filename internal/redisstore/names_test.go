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
	isReserved := testenv.Need(s.Reserve(s.Context(), s.game, requester, skeletons))(s.T)
	return isReserved
}

func (s *namesTest) reservedFor(skeleton string) string {
	s.Helper()
	requester := testenv.Need(s.ReservedFor(s.Context(), s.game, skeleton))(s.T)
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
		if got := test.reserveFor("a:1", "n"); !slices.Equal(got, []bool{true}) {
			test.Errorf("a free name: %v", got)
		}
		if got := test.reserveFor("a:1", "n", "m"); !slices.Equal(got, []bool{false, true}) {
			test.Errorf("the next client of the address: %v", got)
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
		if other, err := test.ReservedFor(test.Context(), test.game+".other", "x"); err != nil || other != "" {
			test.Errorf("in another game it is reserved for %q, %v", other, err)
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
				isReserved, err := test.Reserve(test.Context(), test.game, fmt.Sprint("p:", i), []string{"x"})
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
	if _, err := store.Reserve(t.Context(), "demo", "p:ada", []string{"x"}); err == nil {
		t.Error("Reserve succeeded without a Redis")
	}
	if _, err := store.ReservedFor(t.Context(), "demo", "x"); err == nil {
		t.Error("ReservedFor succeeded without a Redis")
	}
}

// A claimed name is held for its last holder, beside its reservation.
func TestAClaimedNameIsHeld(t *testing.T) {
	testNames(t, func(test *namesTest) {
		test.reserveFor("p:ada", "x")
		for _, holder := range []string{"", "d:1", "p:bob"} {
			if holder != "" {
				testenv.NoError(test.T, test.Hold(test.Context(), test.game, holder, "x"))
			}
			if got, err := test.HeldFor(test.Context(), test.game, "x"); got != holder || err != nil {
				test.Errorf("held for %q, %v; want %q", got, err, holder)
			}
		}
		if ttl := test.client.PTTL(test.Context(), heldNameKey(test.game, "x")).Val(); ttl <= 0 || ttl > identity.HoldTTL || test.reservedFor("x") != "p:ada" {
			test.Errorf("held for %v, reserved for %q", ttl, test.reservedFor("x"))
		}
	})
}
