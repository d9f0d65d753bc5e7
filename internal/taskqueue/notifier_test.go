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

	"laststand/internal/testenv"
)

// crossNodeTest is a running Notifier. It records what the notifier publishes. A worker of the
// kind work has subscribed to it.
type crossNodeTest struct {
	*Notifier

	registry     *prometheus.Registry
	workNotified <-chan struct{}
	end          func() // ends Run and waits for it

	mu        sync.Mutex
	published [][]string
	err       error         // result of Publish
	release   chan struct{} // Publish waits until it is closed; nil: it does not wait
}

func newCrossNodeTest(t *testing.T) *crossNodeTest {
	t.Helper()
	test := &crossNodeTest{registry: prometheus.NewRegistry()}
	test.Notifier = NewNotifier(test.registry)
	test.Publish, test.workNotified = test.recordPublished, test.Subscribe("work")
	test.end = testenv.Run(t, test.Run)
	return test
}

// runWithNotifier runs a test with a Notifier in virtual time.
func runWithNotifier(t *testing.T, test func(t *testing.T, notifier *crossNodeTest)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newCrossNodeTest(t)) })
}

func (c *crossNodeTest) recordPublished(ctx context.Context, kinds []string) error {
	if c.release != nil {
		select {
		case <-c.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.published = append(c.published, kinds)
	return c.err
}

// takePublished returns the messages that were published since its last call.
func (c *crossNodeTest) takePublished() [][]string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	messages := c.published
	c.published = nil
	return messages
}

func (c *crossNodeTest) wantPublished(t *testing.T, cause string, want ...[]string) {
	t.Helper()
	if result := c.takePublished(); !slices.EqualFunc(result, want, slices.Equal) {
		t.Errorf("%s: published %q, want %q", cause, result, want)
	}
}

func (c *crossNodeTest) wantCount(t *testing.T, name, reason string, want float64) {
	t.Helper()
	if result := metricValue(t, c.registry, name, reason); result != want {
		t.Errorf("%s %s: %v, want %v", name, reason, result, want)
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
	for _, family := range families {
		for _, sample := range family.Metric {
			if family.GetName() == metricPrefix+name && (len(sample.Label) == 0 || sample.Label[0].GetValue() == label) {
				return sample.GetCounter().GetValue() + sample.GetGauge().GetValue()
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
func TestNotifierGroupsKinds(t *testing.T) {
	runWithNotifier(t, func(t *testing.T, notifier *crossNodeTest) {
		notifier.Notify("work/a")
		notifier.wantPublished(t, "immediately", []string{"work"})
		for range 49 {
			time.Sleep(time.Millisecond)
			notifier.Notify("work/a")
			notifier.Notify("rest/b")
		}
		notifier.wantPublished(t, "within 50 ms")
		time.Sleep(time.Millisecond)
		notifier.wantPublished(t, "after 50 ms", []string{"rest", "work"})
		time.Sleep(time.Hour)
		notifier.wantPublished(t, "after that")
		if !wasNotified(notifier.workNotified) {
			t.Error("no subscriber of this process was notified")
		}
		notifier.end()
		notifier.wantCount(t, "notifications_total", notificationSent, 3)
	})
}

// A notification from another node wakes the workers of its kind, and is not
// published again.
func TestReceiveNotifiesTheWorkersOfTheKinds(t *testing.T) {
	runWithNotifier(t, func(t *testing.T, notifier *crossNodeTest) {
		notifier.Receive([]string{"rest", "other"})
		if wasNotified(notifier.workNotified) {
			t.Error("subscribers of other kinds were notified")
		}
		notifier.Receive([]string{"rest", "work"})
		if !wasNotified(notifier.workNotified) {
			t.Error("the workers of the kind were not notified")
		}
		notifier.Receive(nil)
		if !wasNotified(notifier.workNotified) {
			t.Error("not all subscribers were notified after lost messages")
		}
		time.Sleep(time.Second)
		notifier.wantPublished(t, "after the received notifications")
		notifier.end()
		notifier.wantCount(t, "notifications_total", notificationReceived, 4)
		notifier.wantCount(t, "notifications_total", notificationLost, 1)
	})
}

// While Publish hangs, Notify does not block. Kinds above the limit are dropped and
// counted.
func TestNotifyDoesNotBlockWhilePublishingHangs(t *testing.T) {
	runWithNotifier(t, func(t *testing.T, notifier *crossNodeTest) {
		notifier.release = make(chan struct{})
		notifier.Notify("first/a")
		synctest.Wait()
		for i := range maxPendingKinds + 7 {
			notifier.Notify(fmt.Sprintf("k%04d/a", i))
		}
		notifier.Notify("k0000/b") // a kind that is pending already
		close(notifier.release)
		time.Sleep(time.Second)
		messages := notifier.takePublished()
		if len(messages) != 2 || len(messages[1]) != maxPendingKinds {
			t.Errorf("published %d times", len(messages))
		}
		notifier.end()
		notifier.wantCount(t, "notifications_total", notificationDropped, 7)
	})
}

// A notification that cannot be published is counted and not repeated, because the polls find
// the tasks. A call of Publish that hangs is cancelled.
func TestNotifierCountsFailures(t *testing.T) {
	runWithNotifier(t, func(t *testing.T, notifier *crossNodeTest) {
		notifier.err = errors.New("redis is unreachable")
		notifier.Notify("work/a")
		notifier.wantPublished(t, "after the first error", []string{"work"})
		time.Sleep(time.Second)
		notifier.wantPublished(t, "a second later")
		notifier.release = make(chan struct{})
		notifier.Notify("work/a")
		time.Sleep(publishTimeout + time.Second)
		synctest.Wait()
		notifier.release, notifier.err = nil, nil
		notifier.Notify("work/a")
		notifier.wantPublished(t, "after that", []string{"work"})
		notifier.end()
		notifier.wantCount(t, "notifications_total", notificationFailed, 2)
	})
}

// When Run ends, it publishes the pending notifications, such as those of returned tasks.
func TestNotifierPublishesPendingKindsAtTheEnd(t *testing.T) {
	runWithNotifier(t, func(t *testing.T, notifier *crossNodeTest) {
		notifier.Notify("work/a")
		notifier.wantPublished(t, "immediately", []string{"work"})
		notifier.Notify("rest/a")
		notifier.end()
		notifier.wantPublished(t, "at the end", []string{"rest"})
	})
}
