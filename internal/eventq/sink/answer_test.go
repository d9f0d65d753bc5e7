package sink

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"laststand/internal/eventq"
)

func TestEachStatus(t *testing.T) {
	t.Parallel()
	fates := map[eventq.Delivery][]int{
		eventq.Delivered: {200, 201, 202, 204, 299},
		eventq.Forbidden: {300, 301, 302, 303, 304, 307, 308, 401, 403},
		eventq.Refused:   {400, 404, 405, 413, 415, 418, 422, 499},
		eventq.TryAgain:  {408, 410, 425, 429, 500, 501, 502, 503, 504, 599, 777},
	}
	for fate, list := range fates {
		for _, status := range list {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				t.Parallel()
				code := fmt.Sprint(status)
				if http.StatusText(status) == "" {
					code = code[:1] + "xx"
				}
				at := newReceiver(t, status, "", "Location", "/elsewhere")
				outcome := at.sink(t, WebhookOptions{}).Send(t.Context(), batchOf(`{"id":"a","type":"online"}`))
				want(t, outcome, eventq.Outcome{Delivery: fate, Code: code, Pause: status == 410})
				at.onlyPost(t) // no redirect was followed
			})
		}
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	date := time.UnixMilli(now).Add(90 * time.Second).UTC().Format(http.TimeFormat) // of whole seconds
	tests := []struct {
		status int
		header string
		want   time.Duration
	}{
		{429, "7", 7 * time.Second}, {503, "0", time.Second}, {503, "86400", time.Hour}, {502, "2", 2 * time.Second},
		{503, date, 90*time.Second - 123*time.Millisecond}, {429, "soon", 0}, {200, "7", 0}, {400, "7", 0}, {403, "7", 0},
	}
	for _, test := range tests {
		at := newReceiver(t, test.status, "", "Retry-After", test.header)
		outcome := at.sink(t, WebhookOptions{}).Send(t.Context(), batchOf(`{"id":"a","type":"online"}`))
		if outcome.RetryAfter != test.want {
			t.Errorf("%d with %q: after %s, want %s", test.status, test.header, outcome.RetryAfter, test.want)
		}
	}
}

func TestSingleItemsAreRefused(t *testing.T) {
	t.Parallel()
	const a, r = eventq.Delivered, eventq.Refused
	tests := map[string][]eventq.Delivery{
		`{"results":[{"no":2,"error":"unknown player"}]}`:                               {a, r, a},
		`{"results":[{"no":1,"error":"x"},{"no":3,"error":"y"},{"no":3,"error":"y"}]}`:  {r, a, r},
		`{"results":[{"no":1},{"no":2,"error":""},{"no":3,"error":null,"other":1}]}`:    nil,
		`{"results":[{"no":0,"error":"x"},{"no":4,"error":"x"},{"no":-1,"error":"x"}]}`: nil,
		`{"results":[{"no":9,"error":"x"},{"no":1,"error":"x"}]}`:                       {r, a, a},
		`{"results":[]}`: nil, `{"results":{}}`: nil, `{}`: nil, `[]`: nil, `ok`: nil, ``: nil,
		`{"results":[{"no":"1","error":"x"}]}`:                                       nil,
		`{"results":[{"no":1,"error":"x"}]`:                                          nil,
		`{"results":[{"no":1,"error":"` + strings.Repeat("x", maxReply) + `"}]}`:     nil,
		`{"results":[{"no":1,"error":"` + strings.Repeat("x", maxReply-100) + `"}]}`: {r, a, a},
	}
	for answer, fates := range tests {
		at := newReceiver(t, 200, answer)
		outcome := at.sink(t, WebhookOptions{}).Send(t.Context(), batchOf(`{"id":"a","type":"t"}`, `{"id":"b","type":"t"}`, `{"id":"c","type":"t"}`))
		want(t, outcome, eventq.Outcome{Delivery: eventq.Delivered, Items: fates, Code: "200"})
		if outcome.Err != nil && strings.ContainsAny(outcome.Err.Error(), "xy") {
			t.Errorf("the error repeats the answer: %v", outcome.Err)
		}
	}
}

// Only a success status may refuse single items.
func TestRefusalOfAllBeatsResults(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, 422, `{"results":[{"no":1,"error":"secret"}]}`)
	outcome := at.sink(t, WebhookOptions{}).Send(t.Context(), batchOf(`{"id":"a","type":"t"}`, `{"id":"b","type":"t"}`))
	want(t, outcome, eventq.Outcome{Delivery: eventq.Refused, Code: "422"})
	if strings.Contains(outcome.Err.Error(), "secret") {
		t.Errorf("the error repeats the answer: %v", outcome.Err)
	}
}

// A success counts although the rest of the answer is lost.
func TestAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	at := newReceiver(t, 200, `{"results":[{"no":1,"error":"x"}]}`, "Content-Length", "1000")
	outcome := at.sink(t, WebhookOptions{}).Send(t.Context(), batchOf(`{"id":"a","type":"t"}`))
	want(t, outcome, eventq.Outcome{Delivery: eventq.Delivered, Code: "200"})
}
