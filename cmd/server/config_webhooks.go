package main

import (
	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
	"laststand/internal/webhook/httpposter"
)

// webhookConfig configures a webhook: an endpoint that receives events of a game.
type webhookConfig struct {
	// Name of the webhook, unique in the game.
	Name string `yaml:"name" allowed:"1 to 64 of A-Z a-z 0-9 _ . : -"`
	// URL that the server posts events to.
	URL string `yaml:"url" allowed:"http:// or https:// URL"`
	// File with the keys that sign events, one per line, the current key first. A relative path starts at the folder of the configuration file. Empty: the server generates a key.
	SecretFile string `yaml:"secret_file,omitempty" allowed:"a path"`
	// Types of events that the server sends to the webhook. Default: all types. The list must not be empty.
	Events []string `yaml:"events,flow" allowed:"names of events"`
	// Whether the server sends one event at a time, in order. Then an event that fails blocks the later events, for about 3 days at most.
	Ordered bool `yaml:"ordered,omitempty"`
	// Whether the URL may lead to an address in a private network. The default is false.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
}

// applyDefaults selects all types of events if the configuration has no list.
func (h *webhookConfig) applyDefaults() {
	if h.Events == nil {
		h.Events = webhook.EventTypes()
	}
}

// webhookKeySource returns where the server reads the keys that sign the events of a webhook.
func (c *config) webhookKeySource(game string, h webhookConfig) keySource {
	source := keySource{
		setting: "games." + game + ".webhooks." + h.Name + ".secret_file", check: checkWebhookKey,
		ledgerName: "hook/" + game + "/" + h.Name, // the slashes keep it apart from names of games
	}
	if h.SecretFile != "" {
		source.file = c.resolvePath(h.SecretFile)
	}
	return source
}

// validateWebhooks adds an error for each invalid URL and each empty list of events. The webhook
// registry checks the other keys.
func (c *config) validateWebhooks(errs *validationErrors) {
	for _, game := range c.gameNames() {
		for _, h := range c.Games[game].Webhooks {
			prefix := "games." + game + ".webhooks." + h.Name + "."
			errs.validateURL(prefix+"url", h.URL)
			if len(h.Events) == 0 {
				errs.addf("%sevents: the list is empty; name at least one event, or remove the key for all events: %v", prefix, webhook.EventTypes())
			}
		}
	}
	if _, err := webhook.NewRegistry(c.endpoints(), nil); err != nil { // the error names the endpoints
		*errs = append(*errs, err)
	}
}

// endpoints returns the webhooks of all games as the webhook registry expects them.
func (c *config) endpoints() (endpoints []webhook.Endpoint) {
	for _, game := range c.gameNames() {
		for _, settings := range c.Games[game].Webhooks {
			endpoints = append(endpoints, webhook.Endpoint{Game: game, Name: settings.Name, Events: settings.Events, Ordered: settings.Ordered})
		}
	}
	return endpoints
}

// createWebhooks creates the dispatcher of webhooks, and the workers of the task queue that
// deliver events.
func (n *node) createWebhooks() error {
	var targets []httpposter.Target
	for _, game := range n.config.gameNames() {
		for _, h := range n.config.Games[game].Webhooks {
			source := n.config.webhookKeySource(game, h)
			targets = append(targets, httpposter.Target{
				Game: game, Name: h.Name, URL: h.URL, Client: n.clients[h.AllowPrivate],
				Keys: func() ([]webhook.Key, error) { return parseWebhookKeys(n.receiverKeys.currentKeys(source)) },
			})
		}
	}
	poster, err := httpposter.New(targets)
	if err != nil {
		return err
	}
	n.dispatcher = webhook.NewDispatcher(webhook.Config{
		Registry: n.webhookRegistry, EndpointStates: n.ledger.Endpoints, TaskCounter: n.ledger.Tasks, Queue: n.ledger.Tasks, Poster: poster, Logger: n.log,
		TopLists: leaderboard.NewTopLists(n.leaderboardConfigs(), n.ledger.Leaderboards, n.ledger.Names),
	})
	n.workers = taskqueue.NewWorkers(taskqueue.Config{
		Store: n.ledger.Claims, Notifier: &n.taskSignal, Kinds: n.dispatcher.Services(), Logger: n.log, Registry: n.registry,
	})
	return nil
}
