package ops

import (
	"context"
	"net/http"
	"testing"

	"laststand/internal/webhook"
)

const (
	webhookPath         = "/admin/v1/games/demo/webhooks/rewards"
	webhookJSON         = `{"game":"demo","name":"rewards","url":"https://rewards.test","events":["day.sealed"],"waiting":3,"dead":1}`
	disabledWebhookJSON = `{"game":"demo","name":"rewards","disabled_reason":"it moves","disabled_at":7,"url":"https://rewards.test","events":["day.sealed"],"waiting":3,"dead":1}`
)

// fakeWebhooks is a Webhooks with one webhook: rewards of the game demo.
type fakeWebhooks struct {
	*fakeBackend
	state webhook.Status
}

func newFakeWebhooks(backend *fakeBackend) *fakeWebhooks {
	return &fakeWebhooks{backend, webhook.Status{
		State: webhook.State{Game: "demo", Name: "rewards"}, URL: "https://rewards.test", Events: []string{webhook.DaySealed}, Waiting: 3, Dead: 1,
	}}
}

func (w *fakeWebhooks) List(context.Context) ([]webhook.Status, error) {
	return []webhook.Status{w.state}, w.fail
}

func (w *fakeWebhooks) find(name string) error {
	if name != w.state.Name {
		return webhook.ErrNoEndpoint
	}
	return w.fail
}

func (w *fakeWebhooks) Ping(_ context.Context, _, name string) (webhook.PingResult, error) {
	return webhook.PingResult{ID: "evt_1", Status: 500, TookMS: 12, Error: "it answered 500"}, w.find(name)
}

func (w *fakeWebhooks) Enable(_ context.Context, _, name string) (webhook.Status, error) {
	w.state.Disabled, w.state.Since = "", 0
	return w.state, w.find(name)
}

func (w *fakeWebhooks) Disable(_ context.Context, _, name, reason string) (webhook.Status, error) {
	w.state.Disabled, w.state.Since = reason, 7
	return w.state, w.find(name)
}

func TestWebhooksAreListedPingedDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	handler := newFakeBackend().handler()
	for _, step := range []struct{ method, path, body, want string }{
		{"GET", "/admin/v1/webhooks", "", `{"webhooks":[` + webhookJSON + `]}`},
		{"POST", webhookPath + "/ping", "", `{"id":"evt_1","status":500,"took_ms":12,"error":"it answered 500"}`},
		{"POST", webhookPath + "/disable", `{"reason":"it moves"}`, disabledWebhookJSON},
		{"GET", "/admin/v1/webhooks", "", `{"webhooks":[` + disabledWebhookJSON + `]}`},
		{"POST", webhookPath + "/enable", "", webhookJSON},
	} {
		if status, _, body := adminRequest(t, handler, step.method, step.path, step.body); status != http.StatusOK || body != step.want {
			t.Errorf("%s %s: %d %s, want %s", step.method, step.path, status, body, step.want)
		}
	}
}
