package redissession

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

const epoch = 1_795_212_345_678

// fixture has the stores of two nodes with a game of its own in a Redis.
type fixture struct {
	*testing.T
	a, b   *Store
	client redis.UniversalClient
	game   string
}

func eachStore(t *testing.T, f func(p *fixture)) {
	t.Parallel()
	now := func() int64 { return epoch }
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		f(&fixture{T: t, a: New(c, "node a", now), b: New(c, "node b", now), client: c, game: "game." + ulid.Make().String()})
	})
}

// assign starts a session.
func (p *fixture) assign(at *Store, player string) (int64, string) {
	p.Helper()
	number, former, err := at.Assign(p.Context(), p.game, player)
	if err != nil {
		p.Fatal(err)
	}
	return number, former
}

func (p *fixture) newest(player string) int64 {
	p.Helper()
	number, err := p.a.Newest(p.Context(), p.game, player)
	if err != nil {
		p.Fatal(err)
	}
	return number
}

// Numbers rise on all nodes together, and each reply names the node of the former
// session.
func TestNumbersRise(t *testing.T) {
	eachStore(t, func(p *fixture) {
		if n := p.newest("ada"); n != 0 {
			p.Errorf("before any session: %d", n)
		}
		last := int64(0)
		for _, step := range []struct {
			at     *Store
			former string
		}{{p.a, ""}, {p.b, "node a"}, {p.b, "node b"}, {p.a, "node b"}} {
			number, former := p.assign(step.at, "ada")
			if number <= last || number < epoch || former != step.former {
				p.Errorf("number %d after %d, former %q, want %q", number, last, former, step.former)
			}
			if n := p.newest("ada"); n != number {
				p.Errorf("newest %d, want %d", n, number)
			}
			last = number
		}
		if _, former := p.assign(p.b, "bob"); former != "" {
			p.Errorf("another player was at %q", former)
		}
		if ttl, err := p.client.PTTL(p.Context(), key(p.game, "ada")).Result(); err != nil || ttl <= 0 || ttl > 7*24*time.Hour {
			p.Errorf("the key lives for %v, %v", ttl, err)
		}
	})
}

// A script that ran twice because its reply was lost has assigned one number.
func TestARepeatedAttemptGetsTheSameNumber(t *testing.T) {
	eachStore(t, func(p *fixture) {
		p.assign(p.a, "ada")
		first, former, err := p.b.assign(p.Context(), p.game, "ada", "attempt")
		if err != nil {
			p.Fatal(err)
		}
		again, still, err := p.b.assign(p.Context(), p.game, "ada", "attempt")
		if err != nil || again != first || former != "node a" || still != former {
			p.Errorf("repeated: %d from %q, first: %d from %q; %v", again, still, first, former, err)
		}
	})
}

// After Redis has lost the key, the next number is still higher.
func TestNumbersRiseAfterALossOfTheKey(t *testing.T) {
	eachStore(t, func(p *fixture) {
		before, _ := p.assign(p.a, "ada")
		if err := p.client.Del(p.Context(), key(p.game, "ada")).Err(); err != nil {
			p.Fatal(err)
		}
		p.b.now = func() int64 { return before + 1 }
		if after, former := p.assign(p.b, "ada"); after <= before || former != "" {
			p.Errorf("%d after %d, former %q", after, before, former)
		}
	})
}

// Sessions that start at the same time get different numbers. Newest returns the highest.
func TestConcurrentSessionsGetDifferentNumbers(t *testing.T) {
	eachStore(t, func(p *fixture) {
		numbers := make([]int64, 40)
		var all sync.WaitGroup
		for i := range numbers {
			all.Go(func() {
				number, _, err := []*Store{p.a, p.b}[i%2].Assign(p.Context(), p.game, "ada")
				if err != nil {
					p.Error(err)
				}
				numbers[i] = number
			})
		}
		all.Wait()
		slices.Sort(numbers)
		if distinct := slices.Compact(slices.Clone(numbers)); len(distinct) != len(numbers) {
			p.Errorf("%d numbers for %d sessions", len(distinct), len(numbers))
		}
		if n := p.newest("ada"); n != numbers[len(numbers)-1] {
			p.Errorf("newest %d of %v", n, numbers)
		}
	})
}

func TestAnUnreachableRedisReturnsAnError(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	s := New(client, "node a", func() int64 { return epoch })
	if _, _, err := s.Assign(t.Context(), "demo", "ada"); err == nil {
		t.Error("Assign returned no error")
	}
	if _, err := s.Newest(t.Context(), "demo", "ada"); err == nil {
		t.Error("Newest returned no error")
	}
}
