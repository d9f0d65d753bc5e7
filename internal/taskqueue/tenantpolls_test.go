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

// poll waits for a task of a kind.
func poll(kind string, wait time.Duration) Poll {
	return Poll{Kind: kind, Max: 10, Lease: time.Minute, Wait: wait}
}

// claimed returns the keys that a poll gets, in one text, and how long it took.
func (f *tenantTest) claimed(game string, p Poll) (keys string, took time.Duration) {
	f.t.Helper()
	begun := time.Now()
	tasks, err := f.Claim(f.t.Context(), game, p)
	if err != nil {
		f.t.Error(err)
	}
	return keysIn(tasks), time.Since(begun)
}

func keysIn(tasks []Task) string {
	var keys []string
	for _, t := range tasks {
		keys = append(keys, t.Topic+"="+t.Key)
	}
	return strings.Join(keys, " ")
}

// A poll waits for its full time, but not at all if there is a task.
func TestPollsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		if keys, took := f.claimed("demo", poll("mail", MaxWait)); keys != "" || took != MaxWait {
			t.Errorf("got %q after %s", keys, took)
		}
		f.enqueue("demo", "mail/eu", "a")
		if keys, took := f.claimed("demo", poll("mail", MaxWait)); keys != "mail/eu=a" || took != 0 {
			t.Errorf("got %q after %s", keys, took)
		}
		time.AfterFunc(3*time.Second, func() { f.enqueue("demo", "post/eu", "b") })
		time.AfterFunc(4*time.Second, func() { f.enqueue("other", "mail/eu", "c") })
		time.AfterFunc(5*time.Second, func() { f.enqueue("demo", "mail/us", "d") })
		if keys, took := f.claimed("demo", poll("mail", MaxWait)); keys != "mail/us=d" || took != 5*time.Second {
			t.Errorf("got %q after %s", keys, took)
		}
	})
}

// A task without a notification at this node is still found by an occasional read.
func TestPollsLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		f.polls.interval = time.Second
		time.AfterFunc(5*time.Second, func() {
			f.shop.mu.Lock()
			defer f.shop.mu.Unlock()
			f.shop.tasks = append(f.shop.tasks, &Task{ID: "1", Game: "demo", Topic: storedTopic("demo", "mail"), Key: "silent", State: Waiting})
		})
		if keys, took := f.claimed("demo", poll("mail", MaxWait)); keys != "mail=silent" || took > 6250*time.Millisecond {
			t.Errorf("got %q after %s", keys, took)
		}
		if n := f.shop.queries(); n < 5 || n > 9 {
			t.Errorf("%d claims in 6 s", n)
		}
	})
}

// A notification wakes one waiting poll, which passes it on if it found a task. So
// a few tasks cost a few claims, however many polls wait.
func TestANotificationWakesOnePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		found := make(chan string, 100)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				keys, _ := f.claimed("demo", Poll{Kind: "mail", Max: 1, Lease: time.Minute, Wait: 5 * time.Second})
				found <- keys
			})
		}
		synctest.Wait()
		f.wantCounted("polls", "", 100)
		f.shop.queries()
		f.shop.mu.Lock()
		for i := range 3 {
			f.shop.tasks = append(f.shop.tasks, &Task{ID: fmt.Sprint(i), Game: "demo", Topic: storedTopic("demo", "mail"), Key: fmt.Sprint(i), State: Waiting})
		}
		f.shop.mu.Unlock()
		f.shop.notifier.Notify(storedTopic("demo", "mail/x"))
		synctest.Wait()
		if n := f.shop.queries(); len(found) != 3 || n != 4 {
			t.Errorf("%d polls found something, in %d claims", len(found), n)
		}
		all.Wait()
		f.wantCounted("polls", "", 0)
		f.wantCounted("claims_total", "", 3)
		if f.shop.notifier.subscribers != nil && len(f.shop.notifier.subscribers)+len(f.polls.byKind)+len(f.polls.perGame) > 0 {
			t.Errorf("left behind: %v, %v, %v", f.shop.notifier.subscribers, f.polls.byKind, f.polls.perGame)
		}
	})
}

// The number of waiting polls is bounded, and one game cannot use them all. A poll
// that may not wait gets the tasks that are there.
func TestWaitingPollsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		var all sync.WaitGroup
		fill := func(game string) {
			for range maxWaitingPerGame {
				all.Go(func() { f.claimed(game, poll("mail", MaxWait)) })
			}
			synctest.Wait()
		}
		refused := func(game string) bool {
			_, err := f.Claim(t.Context(), game, poll("post", MaxWait))
			return errors.Is(err, ErrTooManyPolls)
		}
		fill("demo")
		if !refused("demo") {
			t.Error("one more poll of the game waits")
		}
		f.wantCounted("poll_refusals_total", limitGame, 1)
		for _, game := range []string{"b", "c", "d"} {
			fill(game)
		}
		if !refused("e") {
			t.Error("one more poll of another game waits")
		}
		f.wantCounted("poll_refusals_total", limitNode, 1)
		f.enqueue("demo", "post", "a")
		if keys, took := f.claimed("demo", poll("post", MaxWait)); keys != "post=a" || took != 0 {
			t.Errorf("got %q after %s", keys, took)
		}
		all.Wait()
		if refused("demo") {
			t.Error("ended polls still count as waiting")
		}
	})
}

// If a caller leaves during a claim, its task and its notification go to another poll.
func TestPollOfACallerThatLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := f.Claim(ctx, "demo", poll("mail", MaxWait))
			gone <- err
		}()
		synctest.Wait()
		stays := make(chan string, 1)
		go func() {
			keys, took := f.claimed("demo", poll("mail", MaxWait))
			stays <- fmt.Sprint(keys, " after ", took)
		}()
		synctest.Wait()
		f.shop.claimed = func() {
			f.shop.claimed = nil
			cancel()
		}
		f.enqueue("demo", "mail", "a") // notifies the poll that has waited longest
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if result := <-stays; result != "mail=a after 0s" {
			t.Errorf("the other got %s", result)
		}
		f.wantCounted("failures_total", reasonReturned, 1)
	})
}

func TestTenantQueueClosesItsPolls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		time.AfterFunc(time.Second, f.Close)
		if keys, took := f.claimed("demo", poll("mail", MaxWait)); keys != "" || took != time.Second {
			t.Errorf("got %q after %s", keys, took)
		}
		if keys, took := f.claimed("demo", poll("mail", MaxWait)); keys != "" || took != 0 {
			t.Errorf("got %q after %s", keys, took)
		}
		f.Close()
	})
}

// A poll that could not read passes its notification to another.
func TestANotificationOutlivesAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFronted(t)
		outcomes := make(chan error, 2)
		for range 2 {
			go func() {
				tasks, err := f.Claim(t.Context(), "demo", poll("mail", 5*time.Second))
				if err == nil && len(tasks) == 0 {
					err = ErrNotFound
				}
				outcomes <- err
			}()
		}
		synctest.Wait()
		f.shop.mu.Lock()
		f.shop.tasks = append(f.shop.tasks, &Task{ID: "1", Game: "demo", Topic: storedTopic("demo", "mail"), Key: "k", State: Waiting})
		f.shop.away, f.shop.claimed = true, func() { f.shop.away = false }
		f.shop.mu.Unlock()
		f.shop.notifier.Notify(storedTopic("demo", "mail"))
		if first, second := <-outcomes, <-outcomes; !errors.Is(first, errAway) || second != nil {
			t.Errorf("one poll ended with %v, the other with %v", first, second)
		}
	})
}
