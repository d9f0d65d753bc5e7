package main

import (
	"regexp"
	"slices"

	"laststand/internal/eventq"
	"laststand/internal/hooks"
	"laststand/internal/hooks/httphook"
	"laststand/internal/leaderboard"
	"laststand/internal/webhook"
)

// hook is an endpoint of the operator's that is told of what happens in a game.
type hook struct {
	Name         string   `yaml:"name"`
	URL          string   `yaml:"url"`
	SecretFile   string   `yaml:"secret_file,omitempty"`
	Events       []string `yaml:"events,flow"`
	Ordered      bool     `yaml:"ordered,omitempty"`
	AllowPrivate bool     `yaml:"allow_private,omitempty"`
}

func (h *hook) fill() {
	if h.Events == nil {
		h.Events = hooks.Events()
	}
}

const (
	// maxHooks bounds the endpoints of a game: each is a row with every result.
	maxHooks = 16
	// maxHookName keeps topics, which have the game's name too, within bounds.
	maxHookName = 64
)

var hookName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// hookKeyPlace is where the keys of an endpoint are.
func (c *config) hookKeyPlace(game string, h hook) keyPlace {
	p := keyPlace{
		setting: "games." + game + ".webhooks." + h.Name + ".secret_file", check: checkWebhookKey,
		kept: "hook/" + game + "/" + h.Name, // is no name of a game
	}
	if h.SecretFile != "" {
		p.file = c.beside(h.SecretFile)
	}
	return p
}

func (c *config) validateHooks(name string, f *faults) {
	all, in := c.Games[name].Webhooks, "games."+name+".webhooks"
	if len(all) > maxHooks {
		f.addf("%s: %d are too many, there may be %d", in, len(all), maxHooks)
	}
	names := map[string]bool{}
	for _, h := range all {
		if !hookName.MatchString(h.Name) || len(h.Name) > maxHookName {
			f.addf("%s: the name %q is not of up to %d letters, digits, _ and -", in, h.Name, maxHookName)
		}
		if names[h.Name] {
			f.addf("%s: there are two of the name %q", in, h.Name)
		}
		names[h.Name] = true
		c.validateHook(name, h, f)
	}
}

func (c *config) validateHook(game string, h hook, f *faults) {
	in := "games." + game + ".webhooks." + h.Name + "."
	f.webAddress(in+"url", h.URL)
	if len(h.Events) == 0 {
		f.addf("%sevents: name at least one, or leave it out for all: %v", in, hooks.Events())
	}
	for i, event := range h.Events {
		f.oneOf(in+"events", event, hooks.Events()...)
		if slices.Contains(h.Events[:i], event) {
			f.addf("%sevents: %q twice", in, event)
		}
	}
	_, err := c.hookKeyPlace(game, h).read()
	f.add(in+"secret_file", err)
}

// endpoints are those of all games.
func (c *config) endpoints() (all []hooks.Endpoint) {
	for _, game := range c.gameNames() {
		for _, h := range c.Games[game].Webhooks {
			all = append(all, hooks.Endpoint{Game: game, Name: h.Name, Events: h.Events, Ordered: h.Ordered})
		}
	}
	return all
}

// wireHooks makes what tells the endpoints, and the workers of the durable queue.
func (n *node) wireHooks() error {
	var targets []httphook.Target
	for _, game := range n.config.gameNames() {
		for _, h := range n.config.Games[game].Webhooks {
			place := n.config.hookKeyPlace(game, h)
			targets = append(targets, httphook.Target{
				Game: game, Name: h.Name, URL: h.URL, Client: n.clients[h.AllowPrivate],
				Keys: func() ([]webhook.Key, error) { return parsedKeys(n.keys.of(place)) },
			})
		}
	}
	poster, err := httphook.New(targets)
	if err != nil {
		return err
	}
	n.office = hooks.NewOffice(hooks.Config{
		Book: n.book, States: n.ledger, Counts: n.ledger, Queue: n.ledger, Poster: poster, Logger: n.log,
		Lists: leaderboard.NewTopLists(n.boardConfigs(), n.ledger, n.ledger),
	})
	n.workers = eventq.NewWorkers(eventq.Config{
		Claims: n.ledger, Bell: &n.bell, Services: n.office.Services(), Logger: n.log, Registry: n.registry,
	})
	return nil
}
