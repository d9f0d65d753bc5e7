package limit

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"laststand/internal/protocol"
)

var ada, bob = Named("demo", "ada"), Named("demo", "bob")

// countersOf returns the counters of a rule.
func countersOf(r *Rule) [5]float64 {
	t := r.counters
	return [5]float64{
		testutil.ToFloat64(t.allowed), testutil.ToFloat64(t.refused), testutil.ToFloat64(t.wouldRefuse),
		testutil.ToFloat64(t.storeErrors), testutil.ToFloat64(t.evicted),
	}
}

// refusedFor returns the retry time of a refusal, 0 for a nil error.
func refusedFor(t *testing.T, err error) time.Duration {
	t.Helper()
	if err == nil {
		return 0
	}
	refused, ok := errors.AsType[*protocol.Error](err)
	if !ok || refused.Code != protocol.CodeRateLimited || refused.RetryAfterMS < 1 {
		t.Fatalf("%v", err)
	}
	return time.Duration(refused.RetryAfterMS) * time.Millisecond
}

// All tokens of a full bucket are available immediately; then the bucket refills at its
// rate. The text of a refusal has the subject, the rate and the retry time. A retry after
// that time succeeds.
func TestTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{}).Rule(RuleConfig{Name: "guests", Subject: "new players from this address", Limit: 60, Per: time.Minute, Burst: 3})
		for range 3 {
			if err := r.Take(t.Context(), ada, 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(400 * time.Millisecond)
		err := r.Take(t.Context(), ada, 1)
		const want = "rate_limited: too many new players from this address: at most 60 a minute; try again in 1 s"
		if err == nil || err.Error() != want {
			t.Fatalf("%v\nwant %s", err, want)
		}
		wait := refusedFor(t, err)
		if err := r.Take(t.Context(), bob, 3); err != nil {
			t.Errorf("another key: %v", err)
		}
		time.Sleep(wait - time.Millisecond)
		if again := refusedFor(t, r.Take(t.Context(), ada, 1)); again != time.Millisecond {
			t.Errorf("retry time %v, and %v a millisecond before it", wait, again)
		}
		time.Sleep(time.Millisecond)
		if err := r.Take(t.Context(), ada, 1); err != nil {
			t.Errorf("after the retry time: %v", err)
		}
		if got := countersOf(r); got != [5]float64{5, 2} {
			t.Errorf("counted %v", got)
		}
	})
}

// step is an action on a key, some time after the last one.
type step struct {
	eighths int // of a second
	mode    Mode
	cost    int
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5, 40}).Draw(t, "eighths of a second"),
		rapid.SampledFrom([]Mode{Take, Take, Check, Charge}).Draw(t, "mode"),
		rapid.IntRange(1, 14).Draw(t, "cost"),
	}
}), 1, 40)

// Any sequence of actions on a key equals one on a model of a bucket in whole tokens,
// even if the key was evicted in between.
func TestRuleIsABucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		burst, history := rapid.IntRange(1, 12).Draw(rt, "burst"), steps.Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			r := New(Config{MaxKeys: 1}).Rule(RuleConfig{Name: "r", Limit: 8, Per: time.Second, Burst: burst})
			tokens := burst
			for _, s := range history {
				time.Sleep(time.Duration(s.eighths) * time.Second / 8)
				tokens = min(burst, tokens+s.eighths)
				need, wait, want := min(s.cost, burst), time.Duration(0), time.Duration(0)
				switch had := tokens; s.mode {
				case Take:
					wait, want = refusedFor(t, r.Take(t.Context(), ada, s.cost)), max(0, time.Duration(need-had)*time.Second/8)
					if want == 0 {
						tokens -= need
					}
				case Check:
					wait, want = refusedFor(t, r.Check(t.Context(), ada)), max(0, time.Duration(1-had)*time.Second/8)
				case Charge:
					r.Charge(t.Context(), ada, s.cost)
					tokens = max(tokens-need, -burst)
				}
				if wait != want {
					t.Fatalf("burst %d, %+v: wait %v, want %v", burst, history, wait, want)
				}
			}
		})
	})
}

// Calls with different bursts use one bucket: a token that one call takes is missing for
// all.
func TestWithBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{}).Rule(RuleConfig{Name: "coming", Limit: 5, Per: 5 * time.Second, Burst: 100})
		taken := func(burst int) (n int) {
			for r.Take(t.Context(), ada.WithBurst(burst), 1) == nil {
				n++
			}
			return n
		}
		for i, c := range [][2]int{{10, 10}, {1, 0}, {30, 20}, {10, 0}, {1000, 70}, {100, 0}} {
			if n := taken(c[0]); n != c[1] {
				t.Errorf("call %d: burst %d let %d through, want %d", i, c[0], n, c[1])
			}
		}
		if wait := refusedFor(t, r.Take(t.Context(), ada.WithBurst(40), 1)); wait != 61*time.Second {
			t.Errorf("wait %v", wait)
		}
		time.Sleep(75 * time.Second)
		if n := taken(40); n != 15 {
			t.Errorf("%d after a rest, want 15", n)
		}
		time.Sleep(time.Hour)
		if n := taken(1); n != 5 {
			t.Errorf("the smallest burst lets %d through, want the rule's 5", n)
		}
	})
}

// If the store has refused a small burst, the node still asks it for a larger one.
func TestWithBurstClusterWide(t *testing.T) {
	t.Parallel()
	s := &fakeStore{wait: time.Hour}
	r := New(Config{Store: s}).Rule(RuleConfig{Name: "coming", Limit: 5, Per: time.Minute, Burst: 100, ClusterWide: true})
	for range 2 {
		if r.Take(t.Context(), ada.WithBurst(10), 1) == nil {
			t.Error("the small burst is let through")
		}
	}
	s.wait = 0
	if err := r.Take(t.Context(), ada.WithBurst(50), 1); err != nil || len(s.demands) != 2 || s.demands[1].Burst != 50 {
		t.Errorf("%v, asked %+v", err, s.demands)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	r := New(Config{}).Rule(RuleConfig{Name: "off"})
	r.Charge(t.Context(), ada, 5)
	if r != nil || r.Take(t.Context(), ada, 1_000_000) != nil || r.Check(t.Context(), ada) != nil {
		t.Error("it limits")
	}
}

// In dry run a rule counts what it would refuse, and refuses nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	l := New(Config{DryRun: func(rule string) bool { return rule == "dry" }})
	dryRun, other := l.Rule(RuleConfig{Name: "dry", Limit: 2, Per: time.Hour}), l.Rule(RuleConfig{Name: "other", Limit: 2, Per: time.Hour})
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
	if got := countersOf(dryRun); got != [5]float64{2, 0, 4} || refused != 3 {
		t.Errorf("counted %v; the other refused %d", got, refused)
	}
}

// All IPv6 addresses of a customer are one key, and IPv4 within IPv6 is IPv4.
func TestAddress(t *testing.T) {
	t.Parallel()
	address := func(s string) Key { return Address(netip.MustParseAddr(s)) }
	for _, same := range [][2]string{
		{"2001:db8::1", "2001:db8::ffff:0:0:2"}, {"::ffff:10.0.0.1", "10.0.0.1"}, {"fe80::1%eth0", "fe80::2%eth1"},
	} {
		if address(same[0]) != address(same[1]) {
			t.Errorf("%s and %s are two", same[0], same[1])
		}
	}
	for _, two := range [][2]string{{"2001:db8:0:1::1", "2001:db8::1"}, {"10.0.0.1", "10.0.0.2"}} {
		if address(two[0]) == address(two[1]) {
			t.Errorf("%s and %s are one", two[0], two[1])
		}
	}
	for key, want := range map[Key]string{
		address("2001:db8::1"): "2001:db8::/64", address("10.0.0.1"): "10.0.0.1", ada: "demo/ada", Address(netip.Addr{}): "invalid IP",
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
	demands []Demand

	secrets []string
	fetches int // calls of ListSecrets
}

func (s *fakeStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeStore) Reserve(ctx context.Context, d Demand) (time.Duration, error) {
	return s.Take(ctx, d)
}

func (s *fakeStore) FinishReservation(context.Context, Demand, bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *fakeStore) AddSecret(_ context.Context, _, _, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, secret)
	return s.err
}

func (s *fakeStore) ListSecrets(context.Context, string, string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches++
	return s.secrets, s.err
}

func (s *fakeStore) Take(_ context.Context, d Demand) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.demands = append(s.demands, d)
	return s.wait, s.err
}

// The store decides. While its last refusal lasts, the node does not ask it.
func TestClusterWideRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{}
		r := New(Config{Store: s}).Rule(RuleConfig{Name: "codes", Limit: 4, Per: time.Hour, ClusterWide: true})
		if err := r.Take(t.Context(), ada, 1); err != nil {
			t.Fatal(err)
		}
		if want := (Demand{"codes", "demo/ada", 1, 4, 15 * time.Minute, Take}); len(s.demands) != 1 || s.demands[0] != want {
			t.Errorf("asked %+v, want %+v", s.demands, want)
		}
		s.wait = 20 * time.Minute // other nodes have taken the rest
		if wait := refusedFor(t, r.Take(t.Context(), ada, 1)); wait != s.wait {
			t.Errorf("wait %v", wait)
		}
		s.wait = 0
		time.Sleep(time.Minute)
		if wait := refusedFor(t, r.Check(t.Context(), ada)); wait != 19*time.Minute || len(s.demands) != 2 {
			t.Errorf("wait %v, asked %d times", wait, len(s.demands))
		}
		time.Sleep(19 * time.Minute)
		for range 10 { // this node alone uses up the bucket
			_ = r.Take(t.Context(), ada, 1)
		}
		if len(s.demands) != 6 {
			t.Errorf("asked %d times of a bucket of 4 that is empty", len(s.demands))
		}
		r.Charge(t.Context(), ada, 1)
		if last := s.demands[len(s.demands)-1]; last.Mode != Charge {
			t.Errorf("a charge did not get there: %+v", last)
		}
	})
}

// While the store is unreachable each node decides alone.
func TestClusterWideRuleWithoutItsStore(t *testing.T) {
	t.Parallel()
	s := &fakeStore{err: errors.New("out of reach")}
	r := New(Config{Store: s}).Rule(RuleConfig{Name: "codes", Limit: 2, Per: time.Hour, ClusterWide: true})
	refused := 0
	for range 5 {
		if r.Take(t.Context(), ada, 1) != nil {
			refused++
		}
	}
	if got := countersOf(r); refused != 3 || got != [5]float64{2, 3, 0, 2} {
		t.Errorf("refused %d, counted %v", refused, got)
	}
}

// The number of stored keys is bounded, and early evictions are counted. A key that is
// used all the time is not evicted.
func TestFlood(t *testing.T) {
	t.Parallel()
	const keys, flood = 1 << 10, 30_000
	registry := prometheus.NewRegistry()
	r := New(Config{MaxKeys: keys, Registry: registry}).Rule(RuleConfig{Name: "flood", Limit: 100, Per: time.Hour})
	for range 100 {
		if err := r.Take(t.Context(), ada, 1); err != nil {
			t.Fatal(err)
		}
	}
	address := [4]byte{10}
	for i := range flood {
		address[1], address[2], address[3] = byte(i>>16), byte(i>>8), byte(i)
		_ = r.Take(t.Context(), Address(netip.AddrFrom4(address)), 1)
		if i%100 == 0 && r.Take(t.Context(), ada, 1) == nil {
			t.Fatalf("forgotten after %d", i)
		}
	}
	if n := r.buckets.len(); n > keys || n < keys/2 {
		t.Errorf("%d keys, at most %d", n, keys)
	}
	if got := countersOf(r)[4]; got < flood-keys || got > flood {
		t.Errorf("%g counted as forgotten", got)
	}
	if n, err := testutil.GatherAndCount(registry, "laststand_limit_keys"); n != 1 || err != nil {
		t.Errorf("%d gauges, %v", n, err)
	}
}

// A key whose bucket is full again is evicted, and that is not counted.
func TestIdleKeysAreEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{}).Rule(RuleConfig{Name: "idle", Limit: 10, Per: time.Second})
		for i := range 100 {
			_ = r.Take(t.Context(), Named("demo", strconv.Itoa(i)), 1)
		}
		time.Sleep(3 * time.Second)
		if n := r.buckets.len(); n != 100 {
			t.Errorf("%d keys after a rest", n)
		}
		time.Sleep(2 * time.Second)
		if n := r.buckets.len(); n != 0 || countersOf(r)[4] != 0 {
			t.Errorf("%d keys after a long rest, counted %v", n, countersOf(r))
		}
	})
}

func BenchmarkTake(b *testing.B) {
	for name, keys := range map[string]int{"one key": 1, "10,000 keys": 10_000} {
		b.Run(name, func(b *testing.B) {
			r := New(Config{}).Rule(RuleConfig{Name: "r", Limit: 1 << 40, Per: time.Second, Burst: 1 << 40})
			all := make([]Key, keys)
			for i := range all {
				all[i] = Address(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if err := r.Take(context.Background(), all[i%keys], 1); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkKeys floods a rule with a million addresses and reports the memory per key.
func BenchmarkKeys(b *testing.B) {
	for b.Loop() {
		r := New(Config{}).Rule(RuleConfig{Name: "r", Limit: 60, Per: time.Hour})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 1_000_000 {
			_ = r.Take(context.Background(), Address(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})), 1)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		keys := r.buckets.len()
		b.ReportMetric(float64(keys), "keys")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(keys), "B/key")
	}
}
