package ops

import (
	"context"

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

func (h webhookRoutes) routes() []Operation {
	return []Operation{
		{"GET", "/admin/v1/webhooks", h.list, nil, false, "List the webhooks of all games."},
		{"POST", gamePath + "/webhooks/{webhook}/ping", h.ping, nil, false, "Send a test event to a webhook and return its status."},
		{"POST", gamePath + "/webhooks/{webhook}/enable", h.enable, nil, false, "Enable a webhook."},
		{"POST", gamePath + "/webhooks/{webhook}/disable", withReason(h.disable), nil, false, "Disable a webhook for a `reason`."},
	}
}

// list lists the webhooks of all games. It has no pages, because a game has few webhooks.
func (h webhookRoutes) list(r *request) (any, error) {
	statuses, err := h.Webhooks.List(r.ctx)
	return page[webhook.Status]{key: "webhooks", items: statuses}, err
}

func (h webhookRoutes) ping(r *request) (any, error) {
	return h.Webhooks.Ping(r.ctx, r.game, r.PathValue("webhook"))
}

func (h webhookRoutes) enable(r *request) (any, error) {
	return h.Webhooks.Enable(r.ctx, r.game, r.PathValue("webhook"))
}

func (h webhookRoutes) disable(r *request, reason string) (any, error) {
	return h.Webhooks.Disable(r.ctx, r.game, r.PathValue("webhook"), reason)
}
