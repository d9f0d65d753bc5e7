package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// relayed is a relay whose words are kept, and a bell with one worker's ear and
// the keeper's.
type relayed struct {
	*Relay

	registry     *prometheus.Registry
	work, keeper <-chan struct{}
	end          func() // and waits until it has

	mu    sync.Mutex
	words [][]string
	err   error         // what telling gives
	hold  chan struct{} // telling waits until it is closed; nil: it does not
}

func relay(t *testing.T) *relayed {
	t.Helper()
	r := &relayed{registry: prometheus.NewRegistry()}
	bell := &Bell{}
	r.work, r.keeper = bell.Listen("work"), bell.Listen("")
	r.Relay = NewRelay(RelayConfig{Bell: bell, Tell: r.keep, Registry: r.registry})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.end = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return r
}

func (r *relayed) keep(ctx context.Context, kinds []string) error {
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words = append(r.words, kinds)
	return r.err
}

// told are the words since they were asked for last.
func (r *relayed) told() [][]string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	words := r.words
	r.words = nil
	return words
}

func (r *relayed) want(t *testing.T, why string, words ...[]string) {
	t.Helper()
	if got := r.told(); !slices.EqualFunc(got, words, slices.Equal) {
		t.Errorf("%s: told %q, want %q", why, got, words)
	}
}

func (r *relayed) wantCount(t *testing.T, name, reason string, n float64) {
	t.Helper()
	if got := count(t, r.registry, name, reason); got != n {
		t.Errorf("%s %s: %v, want %v", name, reason, got, n)
	}
}

// count is what a registry says of a metric of the queue with a label, or
// without any.
func count(t *testing.T, registry *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == prefix+name && (len(m.Label) == 0 || m.Label[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s of %q", name, label)
	return 0
}

// rung says whether an ear was rung for since it was asked last.
func rung(ear <-chan struct{}) bool {
	select {
	case <-ear:
		return true
	default:
		return false
	}
}

// What wakes is told at once, and what wakes within 50 ms after that together.
func TestRelayTellsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := relay(t)
		r.Ring("work/a")
		r.want(t, "at once", []string{"work"})
		for range 49 {
			time.Sleep(time.Millisecond)
			r.Ring("work/a")
			r.Ring("rest/b")
			r.Ring("")
		}
		r.want(t, "within 50 ms")
		time.Sleep(time.Millisecond)
		r.want(t, "after 50 ms", []string{"rest", "work"})
		time.Sleep(time.Hour)
		r.want(t, "after that")
		if !rung(r.work) || !rung(r.keeper) {
			t.Error("nobody was rung for here")
		}
		r.end()
		r.wantCount(t, "notifications_total", notificationSent, 3)
	})
}

// What others tell of rings for the workers of a kind, and is not told again.
func TestRelayHears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := relay(t)
		r.Heard([]string{"rest", "other"})
		if rung(r.work) || rung(r.keeper) {
			t.Error("it rang for others")
		}
		r.Heard([]string{"rest", "work"})
		if !rung(r.work) || rung(r.keeper) {
			t.Error("it did not ring for the workers alone")
		}
		r.Heard(nil)
		if !rung(r.work) || !rung(r.keeper) {
			t.Error("it did not ring for all after a gap")
		}
		time.Sleep(time.Second)
		r.want(t, "of what was heard")
		r.end()
		r.wantCount(t, "notifications_total", notificationReceived, 4)
		r.wantCount(t, "notifications_total", notificationLost, 1)
	})
}

// While telling hangs ringing does not, and what is beyond the bound is counted.
func TestRelayIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := relay(t)
		r.hold = make(chan struct{})
		r.Ring("first/a")
		synctest.Wait()
		for i := range mostTold + 7 {
			r.Ring(fmt.Sprintf("k%04d/a", i))
		}
		r.Ring("k0000/b") // is among them
		close(r.hold)
		time.Sleep(time.Second)
		words := r.told()
		if len(words) != 2 || len(words[1]) != mostTold {
			t.Errorf("told %d times", len(words))
		}
		r.end()
		r.wantCount(t, "notifications_total", notificationDropped, 7)
	})
}

// What cannot be told is counted and left to the polls; a call that hangs is
// given up.
func TestRelayThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := relay(t)
		r.err = errors.New("away")
		r.Ring("work/a")
		r.want(t, "once", []string{"work"})
		time.Sleep(time.Second)
		r.want(t, "not again")
		r.hold = make(chan struct{})
		r.Ring("work/a")
		time.Sleep(tellWithin + time.Second)
		synctest.Wait()
		r.hold, r.err = nil, nil
		r.Ring("work/a")
		r.want(t, "after that", []string{"work"})
		r.end()
		r.wantCount(t, "notifications_total", notificationFailed, 2)
	})
}

// At the end what woke last is told, as tasks that were given back.
func TestRelayEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := relay(t)
		r.Ring("work/a")
		r.want(t, "at once", []string{"work"})
		r.Ring("rest/a")
		r.end()
		r.want(t, "at the end", []string{"rest"})
	})
}
