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

// crossNodeTest is a running CrossNodeNotifier. It records what the notifier publishes. A worker
// of the kind work and the maintainer have subscribed to its Notifier.
type crossNodeTest struct {
	*CrossNodeNotifier

	registry                         *prometheus.Registry
	workNotified, maintainerNotified <-chan struct{}
	end                              func() // ends Run and waits for it

	mu        sync.Mutex
	published [][]string
	err       error         // result of Publish
	release   chan struct{} // Publish waits until it is closed; nil: it does not wait
}

func newCrossNodeTest(t *testing.T) *crossNodeTest {
	t.Helper()
	r := &crossNodeTest{registry: prometheus.NewRegistry()}
	notifier := &Notifier{}
	r.workNotified, r.maintainerNotified = notifier.Subscribe("work"), notifier.Subscribe("")
	r.CrossNodeNotifier = NewCrossNodeNotifier(CrossNodeConfig{Notifier: notifier, Publish: r.recordPublished, Registry: r.registry})
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

func (r *crossNodeTest) recordPublished(ctx context.Context, kinds []string) error {
	if r.release != nil {
		select {
		case <-r.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published = append(r.published, kinds)
	return r.err
}

// takePublished returns the messages that were published since its last call.
func (r *crossNodeTest) takePublished() [][]string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	words := r.published
	r.published = nil
	return words
}

func (r *crossNodeTest) wantPublished(t *testing.T, cause string, words ...[]string) {
	t.Helper()
	if result := r.takePublished(); !slices.EqualFunc(result, words, slices.Equal) {
		t.Errorf("%s: published %q, want %q", cause, result, words)
	}
}

func (r *crossNodeTest) wantCount(t *testing.T, name, reason string, n float64) {
	t.Helper()
	if result := metricValue(t, r.registry, name, reason); result != n {
		t.Errorf("%s %s: %v, want %v", name, reason, result, n)
	}
}

// metricValue returns the value of a task queue metric whose first label has the value label. A
// metric without labels matches every label.
func metricValue(t *testing.T, registry *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == metricPrefix+name && (len(m.Label) == 0 || m.Label[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s of %q", name, label)
	return 0
}

// wasNotified reports whether a subscriber was notified since the last call for it.
func wasNotified(subscriber <-chan struct{}) bool {
	select {
	case <-subscriber:
		return true
	default:
		return false
	}
}

// The first notification is published immediately. The notifications of the next 50 ms are
// published together.
func TestCrossNodeNotifierGroupsKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newCrossNodeTest(t)
		r.Notify("work/a")
		r.wantPublished(t, "immediately", []string{"work"})
		for range 49 {
			time.Sleep(time.Millisecond)
			r.Notify("work/a")
			r.Notify("rest/b")
			r.Notify("")
		}
		r.wantPublished(t, "within 50 ms")
		time.Sleep(time.Millisecond)
		r.wantPublished(t, "after 50 ms", []string{"rest", "work"})
		time.Sleep(time.Hour)
		r.wantPublished(t, "after that")
		if !wasNotified(r.workNotified) || !wasNotified(r.maintainerNotified) {
			t.Error("no subscriber of this process was notified")
		}
		r.end()
		r.wantCount(t, "notifications_total", notificationSent, 3)
	})
}

// A notification from another node wakes the workers of its kind, and is not
// published again.
func TestReceiveNotifiesTheWorkersOfTheKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newCrossNodeTest(t)
		r.Receive([]string{"rest", "other"})
		if wasNotified(r.workNotified) || wasNotified(r.maintainerNotified) {
			t.Error("subscribers of other kinds were notified")
		}
		r.Receive([]string{"rest", "work"})
		if !wasNotified(r.workNotified) || wasNotified(r.maintainerNotified) {
			t.Error("not only the workers of the kind were notified")
		}
		r.Receive(nil)
		if !wasNotified(r.workNotified) || !wasNotified(r.maintainerNotified) {
			t.Error("not all subscribers were notified after lost messages")
		}
		time.Sleep(time.Second)
		r.wantPublished(t, "after the received notifications")
		r.end()
		r.wantCount(t, "notifications_total", notificationReceived, 4)
		r.wantCount(t, "notifications_total", notificationLost, 1)
	})
}

// While Publish hangs, Notify does not block. Kinds above the limit are dropped and
// counted.
func TestNotifyDoesNotBlockWhilePublishingHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newCrossNodeTest(t)
		r.release = make(chan struct{})
		r.Notify("first/a")
		synctest.Wait()
		for i := range maxPendingKinds + 7 {
			r.Notify(fmt.Sprintf("k%04d/a", i))
		}
		r.Notify("k0000/b") // a kind that is pending already
		close(r.release)
		time.Sleep(time.Second)
		words := r.takePublished()
		if len(words) != 2 || len(words[1]) != maxPendingKinds {
			t.Errorf("published %d times", len(words))
		}
		r.end()
		r.wantCount(t, "notifications_total", notificationDropped, 7)
	})
}

// A notification that cannot be published is counted and not repeated, because the polls find
// the tasks. A call of Publish that hangs is cancelled.
func TestCrossNodeNotifierCountsFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newCrossNodeTest(t)
		r.err = errors.New("redis is unreachable")
		r.Notify("work/a")
		r.wantPublished(t, "after the first error", []string{"work"})
		time.Sleep(time.Second)
		r.wantPublished(t, "a second later")
		r.release = make(chan struct{})
		r.Notify("work/a")
		time.Sleep(publishTimeout + time.Second)
		synctest.Wait()
		r.release, r.err = nil, nil
		r.Notify("work/a")
		r.wantPublished(t, "after that", []string{"work"})
		r.end()
		r.wantCount(t, "notifications_total", notificationFailed, 2)
	})
}

// When Run ends, it publishes the pending notifications, such as those of returned tasks.
func TestCrossNodeNotifierPublishesAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newCrossNodeTest(t)
		r.Notify("work/a")
		r.wantPublished(t, "immediately", []string{"work"})
		r.Notify("rest/a")
		r.end()
		r.wantPublished(t, "at the end", []string{"rest"})
	})
}
