package redisstore

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// sessionsTest has the stores of two nodes with a game of its own in a Redis.
type sessionsTest struct {
	*testing.T
	storeA, storeB *Sessions
	client         redis.UniversalClient
	game           string
}

func testSessions(t *testing.T, f func(p *sessionsTest)) {
	t.Parallel()
	now := func() int64 { return epoch }
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		f(&sessionsTest{T: t, storeA: NewSessions(client, "node a", now), storeB: NewSessions(client, "node b", now), client: client, game: "game." + ulid.Make().String()})
	})
}

// assign starts a session.
func (test *sessionsTest) assign(store *Sessions, player string) (int64, string) {
	test.Helper()
	number, former, err := store.Assign(test.Context(), test.game, player)
	if err != nil {
		test.Fatal(err)
	}
	return number, former
}

func (test *sessionsTest) newest(player string) int64 {
	test.Helper()
	number := testenv.Need(test.storeA.Newest(test.Context(), test.game, player))(test.T)
	return number
}

// Numbers rise on all nodes together, and each reply names the node of the former
// session.
func TestNumbersRiseOnAllNodes(t *testing.T) {
	testSessions(t, func(test *sessionsTest) {
		if n := test.newest("ada"); n != 0 {
			test.Errorf("before any session: %d", n)
		}
		last := int64(0)
		for _, step := range []struct {
			store      *Sessions
			wantFormer string
		}{{test.storeA, ""}, {test.storeB, "node a"}, {test.storeB, "node b"}, {test.storeA, "node b"}} {
			number, former := test.assign(step.store, "ada")
			if number <= last || number < epoch || former != step.wantFormer {
				test.Errorf("number %d after %d, former %q, want %q", number, last, former, step.wantFormer)
			}
			if n := test.newest("ada"); n != number {
				test.Errorf("newest %d, want %d", n, number)
			}
			last = number
		}
		if _, former := test.assign(test.storeB, "bob"); former != "" {
			test.Errorf("another player was at %q", former)
		}
		if sessionTTL, err := test.client.PTTL(test.Context(), sessionKey(test.game, "ada")).Result(); err != nil || sessionTTL <= 0 || sessionTTL > 7*24*time.Hour {
			test.Errorf("the key lives for %v, %v", sessionTTL, err)
		}
	})
}

// A script that ran twice because its reply was lost has assigned one number.
func TestRepeatedAttemptGetsSameNumber(t *testing.T) {
	testSessions(t, func(test *sessionsTest) {
		test.assign(test.storeA, "ada")
		first, former, err := test.storeB.assign(test.Context(), test.game, "ada", "attempt")
		if err != nil {
			test.Fatal(err)
		}
		repeated, repeatedFormer, err := test.storeB.assign(test.Context(), test.game, "ada", "attempt")
		if err != nil || repeated != first || former != "node a" || repeatedFormer != former {
			test.Errorf("repeated: %d from %q, first: %d from %q; %v", repeated, repeatedFormer, first, former, err)
		}
	})
}

// After Redis has lost the key, the next number is still higher.
func TestNumbersRiseAfterKeyIsLost(t *testing.T) {
	testSessions(t, func(test *sessionsTest) {
		before, _ := test.assign(test.storeA, "ada")
		testenv.NoError(test.T, test.client.Del(test.Context(), sessionKey(test.game, "ada")).Err())
		test.storeB.now = func() int64 { return before + 1 }
		if after, former := test.assign(test.storeB, "ada"); after <= before || former != "" {
			test.Errorf("%d after %d, former %q", after, before, former)
		}
	})
}

// Sessions that start at the same time get different numbers. Newest returns the highest.
func TestConcurrentSessionsGetDifferentNumbers(t *testing.T) {
	testSessions(t, func(test *sessionsTest) {
		numbers := make([]int64, 40)
		var running sync.WaitGroup
		for i := range numbers {
			running.Go(func() {
				number, _, err := []*Sessions{test.storeA, test.storeB}[i%2].Assign(test.Context(), test.game, "ada")
				if err != nil {
					test.Error(err)
				}
				numbers[i] = number
			})
		}
		running.Wait()
		slices.Sort(numbers)
		if distinct := slices.Compact(slices.Clone(numbers)); len(distinct) != len(numbers) {
			test.Errorf("%d numbers for %d sessions", len(distinct), len(numbers))
		}
		if n := test.newest("ada"); n != numbers[len(numbers)-1] {
			test.Errorf("newest %d of %v", n, numbers)
		}
	})
}

func TestUnreachableRedisReturnsError(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	store := NewSessions(client, "node a", func() int64 { return epoch })
	if _, _, err := store.Assign(t.Context(), "demo", "ada"); err == nil {
		t.Error("Assign returned no error")
	}
	if _, err := store.Newest(t.Context(), "demo", "ada"); err == nil {
		t.Error("Newest returned no error")
	}
}
