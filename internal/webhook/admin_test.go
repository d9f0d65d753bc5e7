package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestListReturnsTheStatusOfEndpoints(t *testing.T) {
	t.Parallel()
	fixture := newFixture(t, Endpoint{Game: game, Name: "a", Ordered: true}, Endpoint{Game: "a.game", Name: "b", Events: []string{DaySealed}})
	fixture.disabled["x"] = State{Game: game, Name: "a", Disabled: "gone", Since: 7}
	fixture.disabled["y"] = State{Game: game, Name: "removed", Disabled: "gone", Since: 8}
	list, err := fixture.dispatcher.List(t.Context())
	want := []Status{
		{State: State{Game: "a.game", Name: "b"}, URL: "https://b.test", Events: []string{DaySealed}, Waiting: 16, Dead: maxTaskCount},
		{State: fixture.disabled["x"], URL: "https://a.test", Events: EventTypes(), Ordered: true, Waiting: 26, Dead: maxTaskCount},
	}
	if err != nil || fmt.Sprintf("%+v", list) != fmt.Sprintf("%+v", want) {
		t.Errorf("list\n%+v, %v, want\n%+v", list, err, want)
	}
	fixture.away = true
	if _, err := fixture.dispatcher.List(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("error %v", err)
	}
}

func TestPingReturnsTheReply(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, w *fixture) {
		if _, err := w.dispatcher.Disable(t.Context(), game, "a", ""); err != nil {
			t.Fatal(err)
		}
		w.answer = func(context.Context, Endpoint, Message) Reply {
			time.Sleep(123 * time.Millisecond)
			return Reply{Status: 500, Err: errAnswer}
		}
		p, err := w.dispatcher.Ping(t.Context(), game, "a")
		if err != nil || p.Status != 500 || p.TookMS != 123 || p.Error != errAnswer.Error() || p.ID != w.posts()[0].ID {
			t.Errorf("pinged %+v, %v", p, err)
		}
		body := `{"type":"webhook.ping","timestamp":"2000-01-01T00:00:00.000Z","data":{"game":"com.example.quiz","endpoint":"a"}}`
		if got := string(w.posts()[0].Body); got != body {
			t.Errorf("posted %s, want %s", got, body)
		}
		w.setReplies(Reply{Status: 200})
		again, err := w.dispatcher.Ping(t.Context(), game, "a")
		if err != nil || again.Error != "" || again.ID == p.ID || !strings.HasPrefix(again.ID, "evt_") {
			t.Errorf("the second ping: %+v, %v", again, err)
		}
	})
}

func TestEndpointsAreEnabledAndDisabled(t *testing.T) {
	t.Parallel()
	fixture := newFixture(t, oneEndpoint()...)
	reason := func() string { return fixture.registry.endpoints()[0].disabledReason() }
	long := strings.Repeat("ä", maxReason)
	for _, cause := range []string{long, "another reason"} { // the first reason stays
		if s, err := fixture.dispatcher.Disable(t.Context(), game, "a", cause); err != nil || s.Disabled != long[:maxReason] || reason() != s.Disabled {
			t.Errorf("disabled as %+v, %v", s, err)
		}
	}
	if s, err := fixture.dispatcher.Enable(t.Context(), game, "a"); err != nil || s.Disabled+reason() != "" || s.URL != "https://a.test" || s.Dead != maxTaskCount {
		t.Errorf("the status after enabling is %+v, %v", s, err)
	}
	if s, err := fixture.dispatcher.Disable(t.Context(), game, "a", ""); err != nil || s.Disabled == "" {
		t.Errorf("disabled without a reason: %+v, %v", s, err)
	}
	fixture.away = true
	if _, err := fixture.dispatcher.Enable(t.Context(), game, "a"); !errors.Is(err, errAway) || reason() == "" {
		t.Errorf("enabled while the database is down: %q, %v", reason(), err)
	}
}

func TestAnUnknownEndpointIsRefused(t *testing.T) {
	t.Parallel()
	fixture := newFixture(t, oneEndpoint()...)
	_, pinged := fixture.dispatcher.Ping(t.Context(), game, "b")
	_, enabled := fixture.dispatcher.Enable(t.Context(), "other", "a")
	_, disabled := fixture.dispatcher.Disable(t.Context(), game, "", "why")
	for _, err := range []error{pinged, enabled, disabled} {
		if !errors.Is(err, ErrNoEndpoint) {
			t.Errorf("error %v", err)
		}
	}
	if len(fixture.disabled)+len(fixture.sent) > 0 {
		t.Errorf("disabled %v, sent %v", fixture.disabled, fixture.sent)
	}
}
