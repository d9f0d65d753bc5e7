package overload

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"laststand/internal/protocol"
)

var ada, bob = ObjectKey("demo", "ada"), ObjectKey("demo", "bob")

// ruleCounts returns the counters of a rule.
func ruleCounts(r *Rule) [4]float64 {
	return [4]float64{testutil.ToFloat64(r.allowed), testutil.ToFloat64(r.refused), testutil.ToFloat64(r.wouldRefuse), testutil.ToFloat64(r.storeErrors)}
}

// retryTime returns the retry time of a refusal, 0 for a nil error.
func retryTime(t *testing.T, err error) time.Duration {
	t.Helper()
	if err == nil {
		return 0
	}
	refusal, ok := errors.AsType[*protocol.Error](err)
	if !ok || refusal.Code != protocol.CodeRateLimited || refusal.RetryAfterMS < 1 {
		t.Fatalf("%v", err)
	}
	return time.Duration(refusal.RetryAfterMS) * time.Millisecond
}

// All tokens of a full bucket are available immediately; then the bucket refills at its
// rate. The text of a refusal has the subject, the rate and the retry time. A retry after
// that time succeeds.
func TestTakeRefusesWithRetryTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := NewLimiter(LimiterConfig{}).NewRule(RuleConfig{Name: "guests", Subject: "new players from this address", Limit: 60, Per: time.Minute, Burst: 3})
		for range 3 {
			if err := rule.Take(t.Context(), ada, 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(400 * time.Millisecond)
		err := rule.Take(t.Context(), ada, 1)
		const want = "rate_limited: too many new players from this address: at most 60 a minute; try again in 1 s"
		if err == nil || err.Error() != want {
			t.Fatalf("%v\nwant %s", err, want)
		}
		wait := retryTime(t, err)
		if err := rule.Take(t.Context(), bob, 3); err != nil {
			t.Errorf("another key: %v", err)
		}
		time.Sleep(wait - time.Millisecond)
		if repeatedWait := retryTime(t, rule.Take(t.Context(), ada, 1)); repeatedWait != time.Millisecond {
			t.Errorf("retry time %v, and %v a millisecond before it", wait, repeatedWait)
		}
		time.Sleep(time.Millisecond)
		if err := rule.Take(t.Context(), ada, 1); err != nil {
			t.Errorf("after the retry time: %v", err)
		}
		if got := ruleCounts(rule); got != [4]float64{5, 2} {
			t.Errorf("counted %v", got)
		}
	})
}

// keyAction is an action on a key, some time after the previous action.
type keyAction struct {
	eighths int // of a second
	mode    Mode
	cost    int
}

var randomActions = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) keyAction {
	return keyAction{
		rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5, 40}).Draw(t, "eighths of a second"),
		rapid.SampledFrom([]Mode{Take, Take, Check, Charge}).Draw(t, "mode"),
		rapid.IntRange(1, 14).Draw(t, "cost"),
	}
}), 1, 40)

// Any sequence of actions on a key equals one on a model of a bucket in whole tokens,
// even if the key was evicted in between.
func TestRuleAgreesWithModelOfBucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		burst, actions := rapid.IntRange(1, 12).Draw(rt, "burst"), randomActions.Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			rule := NewLimiter(LimiterConfig{MaxKeys: 1}).NewRule(RuleConfig{Name: "r", Limit: 8, Per: time.Second, Burst: burst})
			tokens := burst
			for _, action := range actions {
				time.Sleep(time.Duration(action.eighths) * time.Second / 8)
				tokens = min(burst, tokens+action.eighths)
				need, wait, want := min(action.cost, burst), time.Duration(0), time.Duration(0)
				switch tokensBefore := tokens; action.mode {
				case Take:
					wait, want = retryTime(t, rule.Take(t.Context(), ada, action.cost)), max(0, time.Duration(need-tokensBefore)*time.Second/8)
					if want == 0 {
						tokens -= need
					}
				case Check:
					wait, want = retryTime(t, rule.Check(t.Context(), ada)), max(0, time.Duration(1-tokensBefore)*time.Second/8)
				case Charge:
					rule.Charge(t.Context(), ada, action.cost)
					tokens = max(tokens-need, -burst)
				}
				if wait != want {
					t.Fatalf("burst %d, %+v: wait %v, want %v", burst, actions, wait, want)
				}
			}
		})
	})
}

// Calls with different bursts use one bucket: a token that one call takes is missing for
// all.
func TestCallsWithDifferentBurstsShareABucket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := NewLimiter(LimiterConfig{}).NewRule(RuleConfig{Name: "coming", Limit: 5, Per: 5 * time.Second, Burst: 100})
		takeUntilRefused := func(burst int) (taken int) {
			for rule.Take(t.Context(), ada.WithBurst(burst), 1) == nil {
				taken++
			}
			return taken
		}
		for i, call := range [][2]int{{10, 10}, {1, 0}, {30, 20}, {10, 0}, {1000, 70}, {100, 0}} {
			if taken := takeUntilRefused(call[0]); taken != call[1] {
				t.Errorf("call %d: burst %d allowed %d, want %d", i, call[0], taken, call[1])
			}
		}
		if wait := retryTime(t, rule.Take(t.Context(), ada.WithBurst(40), 1)); wait != 61*time.Second {
			t.Errorf("wait %v", wait)
		}
		time.Sleep(75 * time.Second)
		if taken := takeUntilRefused(40); taken != 15 {
			t.Errorf("%d after a rest, want 15", taken)
		}
		time.Sleep(time.Hour)
		if taken := takeUntilRefused(1); taken != 5 {
			t.Errorf("the smallest burst allows %d, want the rule's 5", taken)
		}
	})
}

// If the store has refused a small burst, the node still asks it for a larger one.
func TestLargerBurstIsAllowedAfterSmallOneIsRefused(t *testing.T) {
	t.Parallel()
	store := &fakeStore{wait: time.Minute}
	rule := NewLimiter(LimiterConfig{Store: store}).NewRule(RuleConfig{Name: "coming", Limit: 5, Per: time.Minute, Burst: 100, ClusterWide: true})
	for range 2 {
		if rule.Take(t.Context(), ada.WithBurst(10), 1) == nil {
			t.Error("the small burst is allowed")
		}
	}
	store.wait = 0
	if err := rule.Take(t.Context(), ada.WithBurst(50), 1); err != nil || len(store.demands) != 2 || store.demands[1].Burst != 50 {
		t.Errorf("%v, asked %+v", err, store.demands)
	}
}

func TestRuleWithoutLimitAllowsAll(t *testing.T) {
	t.Parallel()
	rule := NewLimiter(LimiterConfig{}).NewRule(RuleConfig{Name: "off"})
	rule.Charge(t.Context(), ada, 5)
	if rule != nil || rule.Take(t.Context(), ada, 1_000_000) != nil || rule.Check(t.Context(), ada) != nil {
		t.Error("the rule without a limit refuses")
	}
}

// In dry run a rule counts what it would refuse, and refuses nothing.
func TestRuleInDryRunRefusesNothing(t *testing.T) {
	t.Parallel()
	limiter := NewLimiter(LimiterConfig{IsDryRun: func(rule string) bool { return rule == "dry" }})
	dryRun, other := limiter.NewRule(RuleConfig{Name: "dry", Limit: 2, Per: time.Hour}), limiter.NewRule(RuleConfig{Name: "other", Limit: 2, Per: time.Hour})
	refused := 0
	for range 5 {
		if err := dryRun.Take(t.Context(), ada, 1); err != nil {
			t.Error(err)
		}
		if other.Take(t.Context(), ada, 1) != nil {
			refused++
		}
	}
	if err := dryRun.Check(t.Context(), ada); err != nil {
		t.Error(err)
	}
	if got := ruleCounts(dryRun); got != [4]float64{2, 0, 4} || refused != 3 {
		t.Errorf("counted %v; the other refused %d", got, refused)
	}
}

// All IPv6 addresses of one network of 64 bits have one key. An IPv4 address that is
// mapped to IPv6 has the key of the IPv4 address.
func TestAddressesOfOneNetworkHaveOneKey(t *testing.T) {
	t.Parallel()
	address := func(s string) Key { return AddressKey(netip.MustParseAddr(s)) }
	for _, same := range [][2]string{
		{"2001:db8::1", "2001:db8::ffff:0:0:2"}, {"::ffff:10.0.0.1", "10.0.0.1"}, {"fe80::1%eth0", "fe80::2%eth1"},
	} {
		if address(same[0]) != address(same[1]) {
			t.Errorf("%s and %s have different keys", same[0], same[1])
		}
	}
	for _, different := range [][2]string{{"2001:db8:0:1::1", "2001:db8::1"}, {"10.0.0.1", "10.0.0.2"}} {
		if address(different[0]) == address(different[1]) {
			t.Errorf("%s and %s have one key", different[0], different[1])
		}
	}
	for key, want := range map[Key]string{
		address("2001:db8::1"): "2001:db8::/64", address("10.0.0.1"): "10.0.0.1", ada: "demo/ada", AddressKey(netip.Addr{}): "invalid IP",
	} {
		if got := key.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// fakeStore is a Store that answers as a test sets.
type fakeStore struct {
	mu      sync.Mutex
	wait    time.Duration
	err     error
	demands []SharedDemand

	secrets []string
}

func (s *fakeStore) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeStore) AddSecret(_ context.Context, _, _, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.secrets = append(s.secrets, secret)
	}
	return s.err
}

func (s *fakeStore) HasSecret(_ context.Context, _, _, secret string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.secrets, secret), s.err
}

func (s *fakeStore) Take(_ context.Context, demand SharedDemand) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands = append(s.demands, demand)
	return s.wait, s.err
}

// The store decides. While its last refusal lasts, the node does not ask it.
func TestStoreDecidesForClusterWideRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		rule := NewLimiter(LimiterConfig{Store: store}).NewRule(RuleConfig{Name: "codes", Limit: 4, Per: time.Hour, ClusterWide: true})
		if err := rule.Take(t.Context(), ada, 1); err != nil {
			t.Fatal(err)
		}
		if want := (SharedDemand{"codes", "demo/ada", 1, 4, 15 * time.Minute, Take}); len(store.demands) != 1 || store.demands[0] != want {
			t.Errorf("asked %+v, want %+v", store.demands, want)
		}
		store.wait = 20 * time.Minute // other nodes have taken the remaining tokens
		if wait := retryTime(t, rule.Take(t.Context(), ada, 1)); wait != store.wait {
			t.Errorf("wait %v", wait)
		}
		store.wait = 0
		time.Sleep(time.Minute)
		if wait := retryTime(t, rule.Check(t.Context(), ada)); wait != 19*time.Minute || len(store.demands) != 2 {
			t.Errorf("wait %v, asked %d times", wait, len(store.demands))
		}
		time.Sleep(19 * time.Minute)
		time.Sleep(time.Hour)
		for range 10 { // this node alone uses up the bucket
			_ = rule.Take(t.Context(), ada, 1)
		}
		if len(store.demands) != 6 {
			t.Errorf("the store was asked %d times for a bucket of 4 tokens", len(store.demands))
		}
		rule.Charge(t.Context(), ada, 1)
		if last := store.demands[len(store.demands)-1]; last.Mode != Charge {
			t.Errorf("the store did not get the charge: %+v", last)
		}
	})
}

// While the store is unreachable each node decides alone.
func TestClusterWideRuleWorksWithoutStore(t *testing.T) {
	t.Parallel()
	store := &fakeStore{err: errors.New("out of reach")}
	rule := NewLimiter(LimiterConfig{Store: store}).NewRule(RuleConfig{Name: "codes", Limit: 2, Per: time.Hour, ClusterWide: true})
	refused := 0
	for range 5 {
		if rule.Take(t.Context(), ada, 1) != nil {
			refused++
		}
	}
	if got := ruleCounts(rule); refused != 3 || got != [4]float64{2, 3, 0, 2} {
		t.Errorf("refused %d, counted %v", refused, got)
	}
}

// The number of stored keys is bounded, and early evictions are counted. A key that is
// used all the time is not evicted.
func TestManyNewKeysEvictNoKeyInUse(t *testing.T) {
	t.Parallel()
	const maxKeys, newKeys = 1 << 10, 30_000
	registry := prometheus.NewRegistry()
	rule := NewLimiter(LimiterConfig{MaxKeys: maxKeys, Registry: registry}).NewRule(RuleConfig{Name: "flood", Limit: 100, Per: time.Hour})
	for range 100 {
		if err := rule.Take(t.Context(), ada, 1); err != nil {
			t.Fatal(err)
		}
	}
	address := [4]byte{10}
	for i := range newKeys {
		address[1], address[2], address[3] = byte(i>>16), byte(i>>8), byte(i)
		_ = rule.Take(t.Context(), AddressKey(netip.AddrFrom4(address)), 1)
		if i%100 == 0 && rule.Take(t.Context(), ada, 1) == nil {
			t.Fatalf("the key in use was evicted after %d others", i)
		}
	}
	evicted := newKeys + 1 - maxKeys // all but the newest
	if err := testutil.GatherAndCompare(registry, strings.NewReader(fmt.Sprintf(`
# HELP laststand_limit_evicted_keys_total Keys that this node evicted before their bucket was full again because there were too many keys.
# TYPE laststand_limit_evicted_keys_total counter
laststand_limit_evicted_keys_total{rule="flood"} %d
# HELP laststand_limit_keys Addresses, players and other keys that a limit remembers at this node.
# TYPE laststand_limit_keys gauge
laststand_limit_keys{rule="flood"} %d
`, evicted, maxKeys)), "laststand_limit_evicted_keys_total", "laststand_limit_keys"); err != nil {
		t.Error(err)
	}
}

// A key whose bucket is full again is evicted, and that is not counted.
func TestIdleKeysAreEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rule := NewLimiter(LimiterConfig{}).NewRule(RuleConfig{Name: "idle", Limit: 10, Per: time.Second})
		for i := range 100 {
			_ = rule.Take(t.Context(), ObjectKey("demo", strconv.Itoa(i)), 10)
		}
		time.Sleep(time.Second - time.Millisecond)
		if n := rule.buckets.len(); n != 100 {
			t.Errorf("%d keys after a rest", n)
		}
		time.Sleep(time.Millisecond)
		if n := rule.buckets.len(); n != 0 {
			t.Errorf("%d keys after a long rest", n)
		}
	})
}
