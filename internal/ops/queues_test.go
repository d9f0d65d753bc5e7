package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/eventq"
)

const (
	demoQueue     = "/admin/v1/games/demo/queue"
	demoQueueJSON = `{"game":"demo","counts":{"offered":10,"sent":5,"dropped":{"too_old":3},"queued":2,"in_flight":0},` +
		`"oldest_at":1795212344878,"due_at":1795212345878,"last_error":"connection refused","last_error_at":1795212340678,"as_of":1795212345678}`
)

func TestQueuesAreListed(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	status, _, body := adminRequest(t, backend.handler(), "GET", "/admin/v1/queues", "")
	if status != http.StatusOK || body != `{"queues":[`+demoQueueJSON+`]}` {
		t.Errorf("%d %s", status, body)
	}
	if status, _, body = adminRequest(t, backend.handler(), "GET", demoQueue, ""); status != http.StatusOK || body != demoQueueJSON {
		t.Errorf("%d %s", status, body)
	}
}

// The pages of a list contain each game once, in order.
func TestQueuesArePaged(t *testing.T) {
	t.Parallel()
	c := newFakeBackend().config()
	c.Games = nil
	for i := range 450 {
		c.Games = append(c.Games, fmt.Sprintf("game%03d", i))
	}
	h := New(c)
	for _, limit := range []string{"", "1", "200"} {
		var seen []string
		for cursor := ""; ; {
			query := "?"
			if limit != "" {
				query += "limit=" + limit + "&"
			}
			if cursor != "" {
				query += "cursor=" + cursor
			}
			_, _, body := adminRequest(t, h, "GET", "/admin/v1/queues"+strings.TrimRight(query, "?&"), "")
			var page struct {
				Queues     []Queue
				NextCursor string `json:"next_cursor"`
			}
			if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Queues) == 0 {
				t.Fatalf("%v: %s", err, body)
			}
			for _, q := range page.Queues {
				seen = append(seen, q.Game)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if !slices.Equal(seen, c.Games) {
			t.Errorf("limit %q: the pages have %q", limit, seen)
		}
	}
}

func TestQueueItemsAreListed(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	const first = `{"queued_at":1795212344878,"behaviour":{"id":"b_1","type":"online"}}`
	for query, want := range map[string]string{
		"":         `{"items":[` + first + `,{"queued_at":1795212345178,"behaviour":{"id":"b_2","type":"offline"}}]}`,
		"?limit=1": `{"items":[` + first + `]}`,
	} {
		if status, _, body := adminRequest(t, backend.handler(), "GET", demoQueue+"/items"+query, ""); status != http.StatusOK || body != want {
			t.Errorf("%q: %d %s", query, status, body)
		}
	}
	backend.queues["demo"].items = nil
	if _, _, body := adminRequest(t, backend.handler(), "GET", demoQueue+"/items", ""); body != `{"items":[]}` {
		t.Errorf("an empty queue: %s", body)
	}
}

// A request that changes a queue is answered with its new state.
func TestQueueChangesReturnTheNewState(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	handler := backend.handler()
	for _, step := range []struct {
		method, path, body string
		want               string // a part of the answer
	}{
		{"POST", "/pause", `{"reason":"their maintenance"}`, `"paused_reason":"their maintenance"`},
		{"POST", "/resume", "", `"due_at":1795212345678`},
		{"PATCH", "", `{"max_len":500}`, `"max_len":500`},
		{"PATCH", "", `{"max_len":0}`, `"queued":2,"in_flight":0},"oldest_at"`},
	} {
		status, _, body := adminRequest(t, handler, step.method, demoQueue+step.path, step.body)
		if status != http.StatusOK || !strings.Contains(body, step.want) || !strings.HasPrefix(body, `{"game":"demo"`) {
			t.Errorf("%s: %d %s, want %s", step.path, status, body, step.want)
		}
	}
	if q := backend.queues["demo"]; q.Paused != "" || q.MaxLen != 0 {
		t.Errorf("in the end the queue is %+v", q.Status)
	}
}

func TestADrainCanDiscardAllItems(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	backend.queues["demo"].Counts.Queued = 5001
	status, _, body := adminRequest(t, backend.handler(), "POST", demoQueue+"/drain", `{"discard":true}`)
	want := eventq.Counts{Offered: 10, Sent: 5, Dropped: map[eventq.Reason]int64{eventq.TooOld: 3, eventq.Shutdown: 5001}}
	var after DrainedQueue
	if err := json.Unmarshal([]byte(body), &after); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	if fmt.Sprint(after.Counts) != fmt.Sprint(want) || after.Discarded != 5001 || backend.queues["demo"].drainCalled {
		t.Errorf("%s", body)
	}
}

// A drain ends when the queue is empty, when the queue is paused because the receiver
// accepts no more, or after 20 s. The response has the state of the queue.
func TestADrainSendsUntilEmptyPausedOrTimeout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare     func(*fakeQueue)
		wantElapsed time.Duration
		want        string
	}{
		"a queue that sends":              {func(q *fakeQueue) { q.Counts.Queued, q.sentPerSecond = 4, 2 }, 2 * time.Second, `"sent":9,"dropped":{"too_old":3},"queued":0,`},
		"an empty queue":                  {func(q *fakeQueue) { q.Counts.Queued = 0 }, 0, `"queued":0,`},
		"items that stay in flight":       {func(q *fakeQueue) { q.Counts.InFlight = 2 }, drainWait, `"queued":2,"in_flight":2}`},
		"a receiver that accepts no more": {func(q *fakeQueue) { q.pausesOnDrain = true }, 0, `"paused_reason":"410 of the receiver"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				backend := newFakeBackend()
				tt.prepare(backend.queues["demo"])
				startedAt := time.Now()
				status, _, body := adminRequest(t, backend.handler(), "POST", demoQueue+"/drain", "")
				if elapsed := time.Since(startedAt); status != http.StatusOK || elapsed != tt.wantElapsed || !strings.Contains(body, tt.want) || !strings.Contains(body, `"discarded":0`) {
					t.Errorf("%d %s after %v, want %s after %v", status, body, elapsed, tt.want, tt.wantElapsed)
				}
			})
		})
	}
}

func TestAPausedQueueIsNotDrained(t *testing.T) {
	t.Parallel()
	backend := newFakeBackend()
	backend.queues["demo"].Paused = "their maintenance"
	status, _, body := adminRequest(t, backend.handler(), "POST", demoQueue+"/drain", `{}`)
	if status != http.StatusConflict || !strings.Contains(body, "their maintenance") || backend.queues["demo"].drainCalled {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ = adminRequest(t, backend.handler(), "POST", demoQueue+"/drain", `{"discard":true}`); status != http.StatusOK || backend.queues["demo"].Counts.Queued != 0 {
		t.Errorf("discarded: %d, %+v", status, backend.queues["demo"].Status)
	}
}
