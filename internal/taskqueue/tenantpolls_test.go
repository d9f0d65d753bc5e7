package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pollFor returns a poll for up to ten tasks of a kind.
func pollFor(kind string, wait time.Duration) Poll {
	return Poll{Kind: kind, Max: 10, Lease: time.Minute, Wait: wait}
}

// claimKeys runs a poll. It returns the topics and keys of the claimed tasks in one text, and the
// duration of the poll.
func (f *tenantTest) claimKeys(game string, p Poll) (keys string, took time.Duration) {
	f.t.Helper()
	startedAt := time.Now()
	tasks, err := f.Claim(f.t.Context(), game, p)
	if err != nil {
		f.t.Error(err)
	}
	return topicsAndKeys(tasks), time.Since(startedAt)
}

func topicsAndKeys(tasks []Task) string {
	var keys []string
	for _, t := range tasks {
		keys = append(keys, t.Topic+"="+t.Key)
	}
	return strings.Join(keys, " ")
}

// A poll without a task waits for its full time. It returns immediately when there is a task.
func TestPollsWaitForATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		if keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "" || elapsed != MaxPollWait {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		f.enqueue("demo", "mail/eu", "a")
		if keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "mail/eu=a" || elapsed != 0 {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		time.AfterFunc(3*time.Second, func() { f.enqueue("demo", "post/eu", "b") })
		time.AfterFunc(4*time.Second, func() { f.enqueue("other", "mail/eu", "c") })
		time.AfterFunc(5*time.Second, func() { f.enqueue("demo", "mail/us", "d") })
		if keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "mail/us=d" || elapsed != 5*time.Second {
			t.Errorf("got %q after %s", keys, elapsed)
		}
	})
}

// A waiting poll also reads the store at intervals. So it finds a task for which this node got no
// notification.
func TestPollsFindTasksWithoutANotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		f.polls.interval = time.Second
		time.AfterFunc(5*time.Second, func() {
			f.store.mu.Lock()
			defer f.store.mu.Unlock()
			f.store.tasks = append(f.store.tasks, &Task{ID: "1", Game: "demo", Topic: storedTopic("demo", "mail"), Key: "silent", State: StateWaiting})
		})
		if keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "mail=silent" || elapsed > 6250*time.Millisecond {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		if n := f.store.takeCallCount(); n < 5 || n > 9 {
			t.Errorf("%d claims in 6 s", n)
		}
	})
}

// A notification wakes one waiting poll, which passes it on if it found a task. So
// a few tasks cost a few claims, however many polls wait.
func TestANotificationWakesOnePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		found := make(chan string, 100)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				keys, _ := f.claimKeys("demo", Poll{Kind: "mail", Max: 1, Lease: time.Minute, Wait: 5 * time.Second})
				found <- keys
			})
		}
		synctest.Wait()
		f.wantMetric("polls", "", 100)
		f.store.takeCallCount()
		f.store.mu.Lock()
		for i := range 3 {
			f.store.tasks = append(f.store.tasks, &Task{ID: fmt.Sprint(i), Game: "demo", Topic: storedTopic("demo", "mail"), Key: fmt.Sprint(i), State: StateWaiting})
		}
		f.store.mu.Unlock()
		f.store.notifier.Notify(storedTopic("demo", "mail/x"))
		synctest.Wait()
		if n := f.store.takeCallCount(); len(found) != 3 || n != 4 {
			t.Errorf("%d polls found a task, with %d claims; want 3 and 4", len(found), n)
		}
		all.Wait()
		f.wantMetric("polls", "", 0)
		f.wantMetric("claims_total", "", 3)
		if f.store.notifier.subscribers != nil && len(f.store.notifier.subscribers)+len(f.polls.byKind)+len(f.polls.perGame) > 0 {
			t.Errorf("after all polls have ended, these remain: %v, %v, %v", f.store.notifier.subscribers, f.polls.byKind, f.polls.perGame)
		}
	})
}

// The numbers of waiting polls per game and per node are limited. A poll above the limit still
// gets the tasks that are there.
func TestTheNumberOfWaitingPollsIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		var all sync.WaitGroup
		fill := func(game string) {
			for range maxWaitingPerGame {
				all.Go(func() { f.claimKeys(game, pollFor("mail", MaxPollWait)) })
			}
			synctest.Wait()
		}
		refused := func(game string) bool {
			_, err := f.Claim(t.Context(), game, pollFor("post", MaxPollWait))
			return errors.Is(err, ErrTooManyPolls)
		}
		fill("demo")
		if !refused("demo") {
			t.Error("a poll above the limit of the game waits")
		}
		f.wantMetric("poll_refusals_total", limitGame, 1)
		for _, game := range []string{"b", "c", "d"} {
			fill(game)
		}
		if !refused("e") {
			t.Error("a poll above the limit of the node waits")
		}
		f.wantMetric("poll_refusals_total", limitNode, 1)
		f.enqueue("demo", "post", "a")
		if keys, elapsed := f.claimKeys("demo", pollFor("post", MaxPollWait)); keys != "post=a" || elapsed != 0 {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		all.Wait()
		if refused("demo") {
			t.Error("ended polls still count as waiting")
		}
	})
}

// If a caller cancels during a claim, its task returns to the queue, and another poll is notified.
func TestACallerThatLeavesReturnsItsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := f.Claim(ctx, "demo", pollFor("mail", MaxPollWait))
			left <- err
		}()
		synctest.Wait()
		other := make(chan string, 1)
		go func() {
			keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait))
			other <- fmt.Sprint(keys, " after ", elapsed)
		}()
		synctest.Wait()
		f.store.onClaim = func() {
			f.store.onClaim = nil
			cancel()
		}
		f.enqueue("demo", "mail", "a") // notifies the poll that has waited longest
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if result := <-other; result != "mail=a after 0s" {
			t.Errorf("the other poll got %s", result)
		}
		f.wantMetric("failures_total", reasonReturned, 1)
	})
}

func TestTenantQueueClosesItsPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		time.AfterFunc(time.Second, f.Close)
		if keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "" || elapsed != time.Second {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		if keys, elapsed := f.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "" || elapsed != 0 {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		f.Close()
	})
}

// A poll whose claim fails passes its notification on to another poll.
func TestAFailedPollPassesItsNotificationOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		outcomes := make(chan error, 2)
		for range 2 {
			go func() {
				tasks, err := f.Claim(t.Context(), "demo", pollFor("mail", 5*time.Second))
				if err == nil && len(tasks) == 0 {
					err = ErrNotFound
				}
				outcomes <- err
			}()
		}
		synctest.Wait()
		f.store.mu.Lock()
		f.store.tasks = append(f.store.tasks, &Task{ID: "1", Game: "demo", Topic: storedTopic("demo", "mail"), Key: "k", State: StateWaiting})
		f.store.isUnreachable, f.store.onClaim = true, func() { f.store.isUnreachable = false }
		f.store.mu.Unlock()
		f.store.notifier.Notify(storedTopic("demo", "mail"))
		if first, second := <-outcomes, <-outcomes; !errors.Is(first, errUnreachable) || second != nil {
			t.Errorf("one poll ended with %v, the other with %v", first, second)
		}
	})
}
