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
func (q *testTenantQueue) claimKeys(game string, poll Poll) (keys string, elapsed time.Duration) {
	q.t.Helper()
	startedAt := time.Now()
	tasks, err := q.Claim(q.t.Context(), game, poll)
	if err != nil {
		q.t.Error(err)
	}
	return topicsAndKeys(tasks), time.Since(startedAt)
}

func topicsAndKeys(tasks []Task) string {
	var keys []string
	for _, task := range tasks {
		keys = append(keys, task.Topic+"="+task.Key)
	}
	return strings.Join(keys, " ")
}

// A poll without a task waits for its full time. It returns immediately when there is a task.
func TestPollsWaitForATask(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		if keys, elapsed := queue.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "" || elapsed != MaxPollWait {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		queue.enqueue("demo", "mail/eu", "a")
		if keys, elapsed := queue.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "mail/eu=a" || elapsed != 0 {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		time.AfterFunc(3*time.Second, func() { queue.enqueue("demo", "post/eu", "b") })
		time.AfterFunc(4*time.Second, func() { queue.enqueue("other", "mail/eu", "c") })
		time.AfterFunc(5*time.Second, func() { queue.enqueue("demo", "mail/us", "d") })
		if keys, elapsed := queue.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "mail/us=d" || elapsed != 5*time.Second {
			t.Errorf("got %q after %s", keys, elapsed)
		}
	})
}

// A notification wakes one waiting poll, which passes it on if it found a task. So
// a few tasks cost a few claims, however many polls wait.
func TestANotificationWakesOnePoll(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		found := make(chan string, 100)
		var polls sync.WaitGroup
		for range 100 {
			polls.Go(func() {
				keys, _ := queue.claimKeys("demo", Poll{Kind: "mail", Max: 1, Lease: time.Minute, Wait: 5 * time.Second})
				found <- keys
			})
		}
		synctest.Wait()
		queue.wantMetric("polls", "", 100)
		queue.store.takeCallCount()
		queue.store.mu.Lock()
		for i := range 3 {
			queue.store.tasks = append(queue.store.tasks, &Task{ID: fmt.Sprint(i), Game: "demo", Topic: storedTopic("demo", "mail"), Key: fmt.Sprint(i), State: StateWaiting})
		}
		queue.store.mu.Unlock()
		queue.store.notifier.Notify(storedTopic("demo", "mail/x"))
		synctest.Wait()
		if n := queue.store.takeCallCount(); len(found) != 3 || n != 4 {
			t.Errorf("%d polls found a task, with %d claims; want 3 and 4", len(found), n)
		}
		polls.Wait()
		queue.wantMetric("polls", "", 0)
		queue.wantMetric("claims_total", "", 3)
		if len(queue.store.notifier.subscriptions)+len(queue.polls.perGame) > 0 {
			t.Errorf("after all polls have ended, these remain: %v, %v", queue.store.notifier.subscriptions, queue.polls.perGame)
		}
	})
}

// The numbers of waiting polls per game and per node are limited. A poll above the limit still
// gets the tasks that are there.
func TestTheNumberOfWaitingPollsIsLimited(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		var polls sync.WaitGroup
		startMaxPolls := func(game string) {
			for range maxWaitingPerGame {
				polls.Go(func() { queue.claimKeys(game, pollFor("mail", MaxPollWait)) })
			}
			synctest.Wait()
		}
		isRefused := func(game string) bool {
			_, err := queue.Claim(t.Context(), game, pollFor("post", MaxPollWait))
			return errors.Is(err, ErrTooManyPolls)
		}
		startMaxPolls("demo")
		if !isRefused("demo") {
			t.Error("a poll above the limit of the game waits")
		}
		queue.wantMetric("poll_refusals_total", limitGame, 1)
		for _, game := range []string{"b", "c", "d"} {
			startMaxPolls(game)
		}
		if !isRefused("e") {
			t.Error("a poll above the limit of the node waits")
		}
		queue.wantMetric("poll_refusals_total", limitNode, 1)
		queue.enqueue("demo", "post", "a")
		if keys, elapsed := queue.claimKeys("demo", pollFor("post", MaxPollWait)); keys != "post=a" || elapsed != 0 {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		polls.Wait()
		if isRefused("demo") {
			t.Error("ended polls still count as waiting")
		}
	})
}

// If a caller cancels during a claim, its task returns to the queue, and another poll is notified.
func TestACallerThatLeavesReturnsItsTasks(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		ctx, cancel := context.WithCancel(t.Context())
		cancelledPoll := make(chan error)
		go func() {
			_, err := queue.Claim(ctx, "demo", pollFor("mail", MaxPollWait))
			cancelledPoll <- err
		}()
		synctest.Wait()
		otherPoll := make(chan string, 1)
		go func() {
			keys, elapsed := queue.claimKeys("demo", pollFor("mail", MaxPollWait))
			otherPoll <- fmt.Sprint(keys, " after ", elapsed)
		}()
		synctest.Wait()
		queue.store.onClaim = func() {
			queue.store.onClaim = nil
			cancel()
		}
		queue.enqueue("demo", "mail", "a") // notifies the poll that has waited longest
		if err := <-cancelledPoll; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if result := <-otherPoll; result != "mail=a after 0s" {
			t.Errorf("the other poll got %s", result)
		}
		queue.wantMetric("failures_total", reasonReturned, 1)
	})
}

func TestCloseEndsWaitingPolls(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		time.AfterFunc(time.Second, queue.Close)
		if keys, elapsed := queue.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "" || elapsed != time.Second {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		if keys, elapsed := queue.claimKeys("demo", pollFor("mail", MaxPollWait)); keys != "" || elapsed != 0 {
			t.Errorf("got %q after %s", keys, elapsed)
		}
		queue.Close()
	})
}

// A poll whose claim fails passes its notification on to another poll.
func TestAFailedPollPassesItsNotificationOn(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		outcomes := make(chan error, 2)
		for range 2 {
			go func() {
				tasks, err := queue.Claim(t.Context(), "demo", pollFor("mail", 5*time.Second))
				if err == nil && len(tasks) == 0 {
					err = ErrNotFound
				}
				outcomes <- err
			}()
		}
		synctest.Wait()
		queue.store.mu.Lock()
		queue.store.tasks = append(queue.store.tasks, &Task{ID: "1", Game: "demo", Topic: storedTopic("demo", "mail"), Key: "k", State: StateWaiting})
		queue.store.isUnreachable, queue.store.onClaim = true, func() { queue.store.isUnreachable = false }
		queue.store.mu.Unlock()
		queue.store.notifier.Notify(storedTopic("demo", "mail"))
		if first, second := <-outcomes, <-outcomes; !errors.Is(first, errUnreachable) || second != nil {
			t.Errorf("one poll ended with %v, the other with %v", first, second)
		}
	})
}
