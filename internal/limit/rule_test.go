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

// counts are what a rule of a name has told.
func counts(r *Rule) [5]float64 {
	t := r.told
	return [5]float64{
		testutil.ToFloat64(t.allowed), testutil.ToFloat64(t.refused), testutil.ToFloat64(t.wouldRefuse),
		testutil.ToFloat64(t.alone), testutil.ToFloat64(t.forgotten),
	}
}

// refusedFor is how long an error has one wait, 0 where there is none.
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

// A full bucket is there at once, and then as much as comes back. A refusal says
// what of, how many and when, and that is true.
func TestTake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{}).Rule(Terms{Name: "guests", What: "new players from this address", Most: 60, Per: time.Minute, Burst: 3})
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
			t.Errorf("told %v, and %v a millisecond before that", wait, again)
		}
		time.Sleep(time.Millisecond)
		if err := r.Take(t.Context(), ada, 1); err != nil {
			t.Errorf("after the time that was told: %v", err)
		}
		if got := counts(r); got != [5]float64{5, 2} {
			t.Errorf("counted %v", got)
		}
	})
}

// step is what happens to a key some time after the last.
type step struct {
	eighths int // of a second
	mode    Mode
	cost    int
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		rapid.SampledFrom([]int{0, 0, 0, 1, 2, 5, 40}).Draw(t, "eighths of a second"),
		rapid.SampledFrom([]Mode{Take, Take, Ask, Charge}).Draw(t, "mode"),
		rapid.IntRange(1, 14).Draw(t, "cost"),
	}
}), 1, 40)

// Any history of a key is that of a bucket which is reckoned in whole tokens,
// also when the key has been forgotten in between.
func TestRuleIsABucket(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		burst, history := rapid.IntRange(1, 12).Draw(rt, "burst"), steps.Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			r := New(Config{Keys: 1}).Rule(Terms{Name: "r", Most: 8, Per: time.Second, Burst: burst})
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
				case Ask:
					wait, want = refusedFor(t, r.Ask(t.Context(), ada)), max(0, time.Duration(1-had)*time.Second/8)
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

// Calls with different bursts spend from one bucket: what one took is missing
// from every other.
func TestUpTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{}).Rule(Terms{Name: "coming", Most: 5, Per: 5 * time.Second, Burst: 100})
		took := func(burst int) (n int) {
			for r.Take(t.Context(), ada.UpTo(burst), 1) == nil {
				n++
			}
			return n
		}
		for i, c := range [][2]int{{10, 10}, {1, 0}, {30, 20}, {10, 0}, {1000, 70}, {100, 0}} {
			if n := took(c[0]); n != c[1] {
				t.Errorf("call %d: burst %d let %d through, want %d", i, c[0], n, c[1])
			}
		}
		if wait := refusedFor(t, r.Take(t.Context(), ada.UpTo(40), 1)); wait != 61*time.Second {
			t.Errorf("wait %v", wait)
		}
		time.Sleep(75 * time.Second)
		if n := took(40); n != 15 {
			t.Errorf("%d after a rest, want 15", n)
		}
		time.Sleep(time.Hour)
		if n := took(1); n != 5 {
			t.Errorf("the smallest burst lets %d through, want the rule's 5", n)
		}
	})
}

// What the nodes share refuses a small burst; a larger one is still asked for.
func TestUpToWide(t *testing.T) {
	t.Parallel()
	s := &store{wait: time.Hour}
	r := New(Config{Shared: s}).Rule(Terms{Name: "coming", Most: 5, Per: time.Minute, Burst: 100, Wide: true})
	for range 2 {
		if r.Take(t.Context(), ada.UpTo(10), 1) == nil {
			t.Error("the small burst is let through")
		}
	}
	s.wait = 0
	if err := r.Take(t.Context(), ada.UpTo(50), 1); err != nil || len(s.asked) != 2 || s.asked[1].Burst != 50 {
		t.Errorf("%v, asked %+v", err, s.asked)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	r := New(Config{}).Rule(Terms{Name: "off"})
	r.Charge(t.Context(), ada, 5)
	if r != nil || r.Take(t.Context(), ada, 1_000_000) != nil || r.Ask(t.Context(), ada) != nil {
		t.Error("it limits")
	}
}

// On trial a rule counts what it would refuse, and refuses nothing.
func TestTrial(t *testing.T) {
	t.Parallel()
	l := New(Config{Trial: func(rule string) bool { return rule == "tried" }})
	tried, other := l.Rule(Terms{Name: "tried", Most: 2, Per: time.Hour}), l.Rule(Terms{Name: "other", Most: 2, Per: time.Hour})
	refused := 0
	for range 5 {
		if err := tried.Take(t.Context(), ada, 1); err != nil {
			t.Error(err)
		}
		if other.Take(t.Context(), ada, 1) != nil {
			refused++
		}
	}
	if err := tried.Ask(t.Context(), ada); err != nil {
		t.Error(err)
	}
	if got := counts(tried); got != [5]float64{2, 0, 4} || refused != 3 {
		t.Errorf("counted %v; the other refused %d", got, refused)
	}
}

// All of a customer's IPv6 addresses are one, and IPv4 within IPv6 is IPv4.
func TestAddress(t *testing.T) {
	t.Parallel()
	of := func(s string) Key { return Address(netip.MustParseAddr(s)) }
	for _, same := range [][2]string{
		{"2001:db8::1", "2001:db8::ffff:0:0:2"}, {"::ffff:10.0.0.1", "10.0.0.1"}, {"fe80::1%eth0", "fe80::2%eth1"},
	} {
		if of(same[0]) != of(same[1]) {
			t.Errorf("%s and %s are two", same[0], same[1])
		}
	}
	for _, two := range [][2]string{{"2001:db8:0:1::1", "2001:db8::1"}, {"10.0.0.1", "10.0.0.2"}} {
		if of(two[0]) == of(two[1]) {
			t.Errorf("%s and %s are one", two[0], two[1])
		}
	}
	for key, want := range map[Key]string{
		of("2001:db8::1"): "2001:db8::/64", of("10.0.0.1"): "10.0.0.1", ada: "demo/ada", Address(netip.Addr{}): "invalid IP",
	} {
		if got := key.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// store is a Shared that answers as told.
type store struct {
	mu    sync.Mutex
	wait  time.Duration
	err   error
	asked []Demand

	vouched []string
	heard   int // how often it was asked for them
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *store) Hold(ctx context.Context, d Demand) (time.Duration, error) { return s.Take(ctx, d) }

func (s *store) Settle(context.Context, Demand, bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *store) Vouch(_ context.Context, _, _, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vouched = append(s.vouched, secret)
	return s.err
}

func (s *store) Vouched(context.Context, string, string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard++
	return s.vouched, s.err
}

func (s *store) Take(_ context.Context, d Demand) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, d)
	return s.wait, s.err
}

// What the nodes share decides; what it is known to refuse it is not asked.
func TestWide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		r := New(Config{Shared: s}).Rule(Terms{Name: "codes", Most: 4, Per: time.Hour, Wide: true})
		if err := r.Take(t.Context(), ada, 1); err != nil {
			t.Fatal(err)
		}
		if want := (Demand{"codes", "demo/ada", 1, 4, 15 * time.Minute, Take}); len(s.asked) != 1 || s.asked[0] != want {
			t.Errorf("asked %+v, want %+v", s.asked, want)
		}
		s.wait = 20 * time.Minute // other nodes have taken the rest
		if wait := refusedFor(t, r.Take(t.Context(), ada, 1)); wait != s.wait {
			t.Errorf("wait %v", wait)
		}
		s.wait = 0
		time.Sleep(time.Minute)
		if wait := refusedFor(t, r.Ask(t.Context(), ada)); wait != 19*time.Minute || len(s.asked) != 2 {
			t.Errorf("wait %v, asked %d times", wait, len(s.asked))
		}
		time.Sleep(19 * time.Minute)
		for range 10 { // this node alone spends all
			_ = r.Take(t.Context(), ada, 1)
		}
		if len(s.asked) != 6 {
			t.Errorf("asked %d times of a bucket of 4 that is empty", len(s.asked))
		}
		r.Charge(t.Context(), ada, 1)
		if last := s.asked[len(s.asked)-1]; last.Mode != Charge {
			t.Errorf("a charge did not get there: %+v", last)
		}
	})
}

// While what the nodes share is out of reach each decides alone.
func TestWideAlone(t *testing.T) {
	t.Parallel()
	s := &store{err: errors.New("out of reach")}
	r := New(Config{Shared: s}).Rule(Terms{Name: "codes", Most: 2, Per: time.Hour, Wide: true})
	refused := 0
	for range 5 {
		if r.Take(t.Context(), ada, 1) != nil {
			refused++
		}
	}
	if got := counts(r); refused != 3 || got != [5]float64{2, 3, 0, 2} {
		t.Errorf("refused %d, counted %v", refused, got)
	}
}

// Many addresses are not remembered all at once, and what is forgotten too
// soon is counted. Who is asked for all the while is not forgotten.
func TestFlood(t *testing.T) {
	t.Parallel()
	const keys, flood = 1 << 10, 30_000
	registry := prometheus.NewRegistry()
	r := New(Config{Keys: keys, Registry: registry}).Rule(Terms{Name: "flood", Most: 100, Per: time.Hour})
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
	if got := counts(r)[4]; got < flood-keys || got > flood {
		t.Errorf("%g counted as forgotten", got)
	}
	if n, err := testutil.GatherAndCount(registry, "laststand_limit_keys"); n != 1 || err != nil {
		t.Errorf("%d gauges, %v", n, err)
	}
}

// Who was idle until the bucket was full is forgotten, and that is not counted.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Config{}).Rule(Terms{Name: "idle", Most: 10, Per: time.Second})
		for i := range 100 {
			_ = r.Take(t.Context(), Named("demo", strconv.Itoa(i)), 1)
		}
		time.Sleep(3 * time.Second)
		if n := r.buckets.len(); n != 100 {
			t.Errorf("%d keys after a rest", n)
		}
		time.Sleep(2 * time.Second)
		if n := r.buckets.len(); n != 0 || counts(r)[4] != 0 {
			t.Errorf("%d keys after a long rest, counted %v", n, counts(r))
		}
	})
}

func BenchmarkTake(b *testing.B) {
	for name, keys := range map[string]int{"one key": 1, "10,000 keys": 10_000} {
		b.Run(name, func(b *testing.B) {
			r := New(Config{}).Rule(Terms{Name: "r", Most: 1 << 40, Per: time.Second, Burst: 1 << 40})
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

// BenchmarkKeys floods a rule with a million addresses, and tells the memory of
// all that it remembers.
func BenchmarkKeys(b *testing.B) {
	for b.Loop() {
		r := New(Config{}).Rule(Terms{Name: "r", Most: 60, Per: time.Hour})
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
