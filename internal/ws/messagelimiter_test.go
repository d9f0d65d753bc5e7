package ws

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// twentyPerSecond configures a bucket of 20 messages a second.
var twentyPerSecond = overload.BucketConfig{Burst: 20, Interval: 50 * time.Millisecond}

// A charge leaves a quarter of the bucket, and never adds tokens.
func TestChargeLeavesQuarterOfBucket(t *testing.T) {
	t.Parallel()
	now := timer.SinceStart()
	limiter := newMessageLimiter(now)
	for _, testCase := range []struct {
		cost    int64
		missing int
	}{{3, 3}, {1000, 15}, {1, 15}, {0, 15}} {
		limiter.charge(now, twentyPerSecond, testCase.cost)
		if missing := limiter.bucket.Missing(now, twentyPerSecond); missing != testCase.missing {
			t.Errorf("after a charge of %v: %v tokens are missing, want %v", testCase.cost, missing, testCase.missing)
		}
	}
}

// newReplayRule returns a rule that allows limit actions per time.
func newReplayRule(limit int, per time.Duration, burst int) *overload.Rule {
	return overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "replays", Subject: "replays", Limit: limit, Per: per, Burst: burst})
}

// A player gets one long replay per time on all connections together, and short replays at
// any time.
func TestLongReplaysAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &services{Config: Config{Limits: Limits{ReplaysPerPlayer: newReplayRule(1, 5*time.Second, 1)}}, messages: twentyPerSecond}
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
		se = connect("p_1") // a new connection
		checkWait(100_000, 5000)
		se = connect("p_2")
		checkWait(100_000, 0)
	})
}

// All players of an address share its limit of long replays. A player who is refused
// because of the address does not also use the player's own limit.
func TestLongReplaysAreLimitedPerAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := Limits{Replays: newReplayRule(100, time.Second, 200), ReplaysPerPlayer: newReplayRule(1, time.Minute, 1)}
		server := &services{Config: Config{Limits: limits}, messages: twentyPerSecond}
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
