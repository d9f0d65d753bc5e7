package ops

import (
	"context"
	"net/http"

	"laststand/internal/webhook"
)

// Webhooks lists and changes webhooks; *webhook.Dispatcher implements it. The error for an
// unknown name is webhook.ErrNoEndpoint.
type Webhooks interface {
	List(ctx context.Context) ([]webhook.Status, error)
	Ping(ctx context.Context, game, name string) (webhook.PingResult, error)
	Enable(ctx context.Context, game, name string) (webhook.Status, error)
	Disable(ctx context.Context, game, name, reason string) (webhook.Status, error)
}

// webhookList is the response with all webhooks. It has no pages, because a game has few
// webhooks.
type webhookList struct {
	Webhooks []webhook.Status `json:"webhooks"`
}

// getWebhooks lists the webhooks of all games.
func (a *api) getWebhooks(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	statuses, err := a.Webhooks.List(ctx)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, webhookList{statuses})
}

// pingWebhook sends a test event to a webhook and writes the result.
func (a *api) pingWebhook(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	result, err := a.Webhooks.Ping(ctx, r.game, r.PathValue("webhook"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, result)
}

func (a *api) enableWebhook(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	status, err := a.Webhooks.Enable(ctx, r.game, r.PathValue("webhook"))
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "webhook enabled", "game", status.Game, "webhook", status.Name, "actor", r.actor)
	return writeJSON(w, http.StatusOK, status)
}

func (a *api) disableWebhook(w http.ResponseWriter, r *request) error {
	reason, err := readReason(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := r.callContext()
	defer cancel()
	status, err := a.Webhooks.Disable(ctx, r.game, r.PathValue("webhook"), reason)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "webhook disabled", "game", status.Game, "webhook", status.Name, "reason", reason, "actor", r.actor)
	return writeJSON(w, http.StatusOK, status)
}
