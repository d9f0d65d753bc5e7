package main

import (
	"laststand/internal/config"
	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

// createWebhooks creates the dispatcher of webhooks, and the workers of the task queue that
// deliver events.
func (n *node) createWebhooks() {
	poster := &httpserver.Poster{Clients: n.clients, Keys: func(endpoint webhook.Endpoint) ([]webhook.Key, error) {
		return parseWebhookKeys(n.receiverKeys.Current(n.config.WebhookKeys(endpoint.Game, config.Webhook{Name: endpoint.Name})))
	}}
	n.dispatcher = webhook.NewDispatcher(webhook.Config{
		Registry: n.webhookRegistry, EndpointStates: n.ledger.Endpoints, TaskCounter: n.ledger.Tasks, Queue: n.ledger.Tasks, Poster: tracedPoster{poster, n.tracing.tracer}, Logger: n.log,
		TopLists: leaderboard.NewTopLists(n.config.LeaderboardConfigs(), n.ledger.Leaderboards, n.ledger.Names),
	})
	n.workers = taskqueue.NewWorkers(taskqueue.Config{
		Store: n.ledger.Claims, Notifier: &n.taskSignal, Kinds: n.dispatcher.Services(), Logger: n.log, Registry: n.registry,
	})
}
