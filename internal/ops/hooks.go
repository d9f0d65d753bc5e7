package ops

import (
	"context"
	"net/http"

	"laststand/internal/webhook"
)

// Webhooks lists and changes webhooks; *webhook.Dispatcher implements it. The error for an
// unknown name is webhook.ErrNoEndpoint.
type Hooks interface {
	List(ctx context.Context) ([]webhook.Status, error)
	Ping(ctx context.Context, game, name string) (webhook.PingResult, error)
	Enable(ctx context.Context, game, name string) (webhook.Status, error)
	Disable(ctx context.Context, game, name, reason string) (webhook.Status, error)
}

// webhookList is the response with all webhooks. It has no pages, because a game has few
// webhooks.
type endpoints struct {
	Webhooks []webhook.Status `json:"webhooks"`
}

// getWebhooks lists the webhooks of all games.
func (a *api) getHooks(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	all, err := a.Hooks.List(ctx)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, endpoints{all})
}

// pingWebhook sends a test event to a webhook and writes the result.
func (a *api) pingHook(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	pinged, err := a.Hooks.Ping(ctx, r.game, r.PathValue("webhook"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, pinged)
}

func (a *api) enableHook(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	s, err := a.Hooks.Enable(ctx, r.game, r.PathValue("webhook"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "webhook enabled", "game", s.Game, "webhook", s.Name, "actor", r.actor)
	return answer(w, http.StatusOK, s)
}

func (a *api) disableHook(w http.ResponseWriter, r *request) error {
	reason, err := readReason(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := r.within()
	defer cancel()
	s, err := a.Hooks.Disable(ctx, r.game, r.PathValue("webhook"), reason)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "webhook disabled", "game", s.Game, "webhook", s.Name, "reason", reason, "actor", r.actor)
	return answer(w, http.StatusOK, s)
}
