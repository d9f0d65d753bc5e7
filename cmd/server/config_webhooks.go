package main

import (
	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
	"laststand/internal/webhook/httpposter"
	"laststand/internal/webhook/signature"
)

// webhookConfig configures an endpoint that receives events of a game.
type webhookConfig struct {
	// Name of the endpoint, unique in the game.
	Name string `yaml:"name" allowed:"1 to 64 of A-Z a-z 0-9 _ . : -"`
	// Address that the server posts events to.
	URL string `yaml:"url" allowed:"http:// or https:// URL"`
	// File with the endpoint's keys, one per line, the current one first, relative to the configuration file. Empty: the server generates a key.
	SecretFile string `yaml:"secret_file,omitempty" allowed:"a path"`
	// Events that the endpoint receives. Empty: all.
	Events []string `yaml:"events,flow" allowed:"names of events"`
	// Whether the server sends one message at a time, in order. A failing message then holds up the later ones, for at most some 3 days.
	Ordered bool `yaml:"ordered,omitempty"`
	// Whether the endpoint may have an address of a private network.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
}

func (h *webhookConfig) fill() {
	if h.Events == nil {
		h.Events = webhook.Events()
	}
}

// webhookKeySource returns the source of the keys of an endpoint.
func (c *config) webhookKeySource(game string, h webhookConfig) keySource {
	p := keySource{
		setting: "games." + game + ".webhooks." + h.Name + ".secret_file", check: checkWebhookKey,
		ledgerName: "hook/" + game + "/" + h.Name, // cannot be the name of a game
	}
	if h.SecretFile != "" {
		p.file = c.resolvePath(h.SecretFile)
	}
	return p
}

// validateWebhooks checks the addresses and the events. The webhook registry checks the rest.
func (c *config) validateWebhooks(f *faults) {
	for _, game := range c.gameNames() {
		for _, h := range c.Games[game].Webhooks {
			prefix := "games." + game + ".webhooks." + h.Name + "."
			f.validateURL(prefix+"url", h.URL)
			if len(h.Events) == 0 {
				f.addf("%sevents: name at least one, or leave it out for all: %v", prefix, webhook.Events())
			}
		}
	}
	if _, err := webhook.NewRegistry(c.endpoints(), nil); err != nil { // the error names the endpoints
		*f = append(*f, err)
	}
}

// endpoints returns the webhook endpoints of all games.
func (c *config) endpoints() (all []webhook.Endpoint) {
	for _, game := range c.gameNames() {
		for _, h := range c.Games[game].Webhooks {
			all = append(all, webhook.Endpoint{Game: game, Name: h.Name, Events: h.Events, Ordered: h.Ordered})
		}
	}
	return all
}

// wireWebhooks creates the dispatcher of webhooks, and the workers of the task queue.
func (n *node) wireWebhooks() error {
	var targets []httpposter.Target
	for _, game := range n.config.gameNames() {
		for _, h := range n.config.Games[game].Webhooks {
			source := n.config.webhookKeySource(game, h)
			targets = append(targets, httpposter.Target{
				Game: game, Name: h.Name, URL: h.URL, Client: n.clients[h.AllowPrivate],
				Keys: func() ([]signature.Key, error) { return parsedKeys(n.keys.keysOf(source)) },
			})
		}
	}
	poster, err := httpposter.New(targets)
	if err != nil {
		return err
	}
	n.dispatcher = webhook.NewDispatcher(webhook.Config{
		Registry: n.webhookRegistry, States: n.ledger, Counts: n.ledger, Queue: n.ledger, Poster: poster, Logger: n.log,
		Lists: leaderboard.NewTopLists(n.boardConfigs(), n.ledger, n.ledger),
	})
	n.workers = taskqueue.NewWorkers(taskqueue.Config{
		Claims: n.ledger, Notifier: &n.taskSignal, Services: n.dispatcher.Services(), Logger: n.log, Registry: n.registry,
	})
	return nil
}
