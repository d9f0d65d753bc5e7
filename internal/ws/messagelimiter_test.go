package ws

import (
	"errors"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// messageLimiter allows the same messages as golang.org/x/time/rate.
func TestMessageLimiterEqualsRateLimiter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.SampledFrom([]float64{0.25, 0.5, 1, 2.5, 8, 20, 1024}).Draw(t, "per second")
		now := time.Duration(0)
		limiter, model := newMessageLimiter(now, perSecond), rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond), 1))
		for range rapid.IntRange(1, 60).Draw(t, "messages") {
			now += time.Duration(rapid.IntRange(0, 32).Draw(t, "later")) * time.Second / 64
			cost := min(rapid.IntRange(1, 3).Draw(t, "cost"), int(bucketSize(perSecond)))
			if got, model := limiter.tryTake(now, perSecond, cost), model.AllowN(processStart.Add(now), cost); got != model {
				t.Fatalf("%d after %v: %v, want %v", cost, now, got, model)
			}
		}
	})
}

// A charge leaves a quarter of the bucket, and never adds tokens.
func TestChargeLeavesQuarterOfBucket(t *testing.T) {
	t.Parallel()
	limiter := newMessageLimiter(0, 20)
	for _, testCase := range []struct{ cost, left float64 }{{3, 17}, {1000, 5}, {1, 5}, {0, 5}} {
		if limiter.charge(0, 20, testCase.cost); limiter.tokens != testCase.left {
			t.Errorf("after a charge of %v: %v tokens, want %v", testCase.cost, limiter.tokens, testCase.left)
		}
	}
	if !limiter.tryTake(0, 20, 3) || limiter.tryTake(0, 20, 3) || !limiter.tryTake(50*time.Millisecond, 20, 3) {
		t.Error("the bucket does not refill after charges")
	}
}

// A player gets one long replay per longReplayInterval on all connections together, and
// short replays at any time.
func TestLongReplaysAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &services{Config: Config{MessagesPerSecond: 20}}
		connect := func(player string) *session {
			se := newSession(server, nil, netip.Addr{}, nil)
			se.game, se.player = "demo", player
			return se
		}
		se := connect("p_1")
		checkWait := func(bytes, wantWait int64) {
			t.Helper()
			var refused *protocol.Error
			if err := se.requests.checkReplay(bytes); err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if wantWait == 0 && refused != nil || wantWait > 0 && (refused == nil || refused.Code != protocol.CodeRateLimited || refused.RetryAfterMS != wantWait) {
				t.Errorf("%d bytes: %+v, want to wait %d ms", bytes, refused, wantWait)
			}
		}
		checkWait(100_000, 0)
		checkWait(100_000, 5000)
		checkWait(60_000, 0)
		time.Sleep(4 * time.Second)
		checkWait(100_000, 1000)
		time.Sleep(time.Second)
		checkWait(640<<10, 0)
		checkWait(100_000, 10_000)
		se = connect("p_1") // a new connection
		checkWait(100_000, 10_000)
		se = connect("p_2")
		checkWait(100_000, 0)
	})
}

// All players of an address share its limit of long replays. A player who is refused
// because of the address does not also use the player's own limit.
func TestLongReplaysAreLimitedPerAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replays := overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "replays", Subject: "KiB", Limit: 100, Per: time.Second, Burst: 200})
		server := &services{Config: Config{MessagesPerSecond: 20, Limits: Limits{Replays: replays}}}
		addressA, addressB := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		check := func(player string, address netip.Addr, isAllowed bool) {
			t.Helper()
			se := newSession(server, nil, address, nil)
			se.game, se.player = "demo", player
			if err := se.requests.checkReplay(100 << 10); (err == nil) != isAllowed {
				t.Errorf("%s: %v", player, err)
			}
		}
		check("p_1", addressA, true)
		check("p_2", addressA, true)
		check("p_3", addressA, false)
		check("p_4", addressB, true)
		time.Sleep(time.Second)
		check("p_3", addressA, true)
	})
}

// A node remembers a bounded number of players, and forgets those who may get a replay
// again.
func TestRememberedReplaysAreLimited(t *testing.T) {
	t.Parallel()
	var times longReplayTimes
	for i := range maxRememberedReplays {
		if wait := times.reserve(overload.ObjectKey("demo", strconv.Itoa(i)), 0, time.Second); wait != 0 {
			t.Fatalf("player %d waits %v", i, wait)
		}
	}
	if wait := times.reserve(overload.ObjectKey("demo", "more"), 0, time.Second); wait != longReplayInterval {
		t.Errorf("one more player waits %v", wait)
	}
	if wait := times.reserve(overload.ObjectKey("demo", "more"), time.Second, time.Second); wait != 0 || len(times.nextAllowed) != 1 {
		t.Errorf("later the player waits %v, and %d are remembered", wait, len(times.nextAllowed))
	}
}
