package main

import (
	"net/http"

	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
	"laststand/internal/webhook/httpposter"
)

// createWebhooks creates the dispatcher of webhooks, and the workers of the task queue that
// deliver events.
func (n *node) createWebhooks() error {
	var targets []httpposter.Target
	for _, game := range n.config.GameNames() {
		for _, h := range n.config.Games[game].Webhooks {
			source := n.config.WebhookKeys(game, h)
			targets = append(targets, httpposter.Target{
				Game: game, Name: h.Name, URL: h.URL, Client: n.clients[h.AllowPrivate],
				Keys: func() ([]webhook.Key, error) { return parseWebhookKeys(n.receiverKeys.Current(source)) },
			})
		}
	}
	poster, err := httpposter.New(targets)
	if err != nil {
		return err
	}
	n.dispatcher = webhook.NewDispatcher(webhook.Config{
		Registry: n.webhookRegistry, EndpointStates: n.ledger.Endpoints, TaskCounter: n.ledger.Tasks, Queue: n.ledger.Tasks, Poster: poster, Logger: n.log,
		TopLists: leaderboard.NewTopLists(n.config.LeaderboardConfigs(), n.ledger.Leaderboards, n.ledger.Names),
	})
	n.workers = taskqueue.NewWorkers(taskqueue.Config{
		Store: n.ledger.Claims, Notifier: &n.taskSignal, Kinds: n.dispatcher.Services(), Logger: n.log, Registry: n.registry,
	})
	return nil
}

// clients holds the HTTP clients for webhooks and sinks: clients[true] may connect to
// private addresses, clients[false] may not.
type clients map[bool]*http.Client

func newClients() clients {
	return clients{false: httpposter.NewClient(httpposter.ClientOptions{}), true: httpposter.NewClient(httpposter.ClientOptions{AllowPrivate: true})}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}
