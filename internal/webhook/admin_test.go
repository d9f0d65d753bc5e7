package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
)

func TestListReturnsTheStatusOfEndpoints(t *testing.T) {
	t.Parallel()
	env := newFixture(t, Endpoint{Game: game, Name: "a", Ordered: true}, Endpoint{Game: "a.game", Name: "b", Events: []string{DaySealed}})
	env.disabled["x"] = State{Game: game, Name: "a", Disabled: "gone", Since: 7}
	env.disabled["y"] = State{Game: game, Name: "removed", Disabled: "gone", Since: 8}
	list, err := env.dispatcher.List(t.Context())
	want := []Status{
		{State: State{Game: "a.game", Name: "b"}, URL: "https://b.test", Events: []string{DaySealed}, Waiting: 16, Dead: maxTaskCount},
		{State: env.disabled["x"], URL: "https://a.test", Events: EventTypes(), Ordered: true, Waiting: 26, Dead: maxTaskCount},
	}
	if err != nil || fmt.Sprintf("%+v", list) != fmt.Sprintf("%+v", want) {
		t.Errorf("list\n%+v, %v, want\n%+v", list, err, want)
	}
	env.unavailable = true
	if _, err := env.dispatcher.List(t.Context()); !errors.Is(err, errUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestPingReturnsTheReply(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, env *fixture) {
		testenv.Need(env.dispatcher.Disable(t.Context(), game, "a", ""))(t)
		env.respond = func(context.Context, Endpoint, Message) Reply {
			time.Sleep(123 * time.Millisecond)
			return Reply{Status: 500, Err: errReply}
		}
		first, err := env.dispatcher.Ping(t.Context(), game, "a")
		if err != nil || first.Status != 500 || first.TookMS != 123 || first.Error != errReply.Error() || first.ID != env.posts()[0].ID {
			t.Errorf("pinged %+v, %v", first, err)
		}
		body := `{"type":"webhook.ping","timestamp":"2000-01-01T00:00:00.000Z","data":{"game":"com.example.quiz","endpoint":"a"}}`
		if got := string(env.posts()[0].Body); got != body {
			t.Errorf("posted %s, want %s", got, body)
		}
		env.setReplies(Reply{Status: 200})
		second, err := env.dispatcher.Ping(t.Context(), game, "a")
		if err != nil || second.Error != "" || second.ID == first.ID || !strings.HasPrefix(second.ID, "evt_") {
			t.Errorf("the second ping: %+v, %v", second, err)
		}
	})
}

func TestEndpointsAreEnabledAndDisabled(t *testing.T) {
	t.Parallel()
	env := newFixture(t, oneEndpoint()...)
	reason := func() string { return env.registry.endpoints()[0].disabledReason() }
	tooLong := strings.Repeat("ä", maxReason)
	for _, cause := range []string{tooLong, "another reason"} { // the first reason stays
		if status, err := env.dispatcher.Disable(t.Context(), game, "a", cause); err != nil || status.Disabled != tooLong[:maxReason] || reason() != status.Disabled {
			t.Errorf("disabled as %+v, %v", status, err)
		}
	}
	if status, err := env.dispatcher.Enable(t.Context(), game, "a"); err != nil || status.Disabled+reason() != "" || status.URL != "https://a.test" || status.Dead != maxTaskCount {
		t.Errorf("the status after enabling is %+v, %v", status, err)
	}
	if status, err := env.dispatcher.Disable(t.Context(), game, "a", ""); err != nil || status.Disabled == "" {
		t.Errorf("disabled without a reason: %+v, %v", status, err)
	}
	env.unavailable = true
	if _, err := env.dispatcher.Enable(t.Context(), game, "a"); !errors.Is(err, errUnavailable) || reason() == "" {
		t.Errorf("enabled while the database is down: %q, %v", reason(), err)
	}
}

func TestAnUnknownEndpointIsRefused(t *testing.T) {
	t.Parallel()
	env := newFixture(t, oneEndpoint()...)
	_, pingErr := env.dispatcher.Ping(t.Context(), game, "b")
	_, enableErr := env.dispatcher.Enable(t.Context(), "other", "a")
	_, disableErr := env.dispatcher.Disable(t.Context(), game, "", "why")
	for _, err := range []error{pingErr, enableErr, disableErr} {
		if !errors.Is(err, ErrNoEndpoint) {
			t.Errorf("error %v", err)
		}
	}
	if len(env.disabled)+len(env.sent) > 0 {
		t.Errorf("disabled %v, sent %v", env.disabled, env.sent)
	}
}
