package cli

import (
	"context"
	"fmt"
	"net/http"

	"laststand/internal/config"
	"laststand/internal/ledger"
)

type queueCmd struct {
	List queueList `cmd:"" help:"List the behaviour queues."`
	Peek struct {
		gameFlag
		Limit int `default:"50" placeholder:"N" query:"limit" help:"Print at most N behaviours, up to 200 (default 50)."`
	} `cmd:"" help:"Print the oldest behaviours of a queue."`
	Drain struct {
		gameFlag
		Discard bool `body:"discard" help:"Discard the queued behaviours instead; they count as dropped with reason shutdown."`
	} `cmd:"" help:"Send all queued behaviours now, or discard them."`
	Pause struct {
		gameFlag
		Reason string `required:"" placeholder:"TEXT" body:"reason" help:"The reason that the list of queues shows."`
	} `cmd:"" help:"Pause the reporting of a game."`
	Resume    struct{ gameFlag } `cmd:"" help:"Resume the reporting of a game."`
	SetMaxLen struct {
		gameFlag
		MaxLen int `arg:"" body:"max_len" help:"The maximum number of behaviours; 0 restores the configured length."`
	} `cmd:"" help:"Set the maximum length of a queue."`
	ShowKey queueShowKey `cmd:"" help:"Print the generated key that signs the batches of a game."`
}

type queueList struct {
	Game string `placeholder:"NAME" help:"List only the queue of this game."`
}

func (l *queueList) Run(ctx context.Context, admin *adminClient) error {
	if l.Game != "" {
		return queueTable.one(ctx, admin, apiRequest{method: http.MethodGet, path: gamePath(l.Game, "/queue")})
	}
	return queueTable.list("queues")(ctx, admin, apiRequest{path: "/queues?limit=200"})
}

type queueShowKey struct{ gameFlag }

func (k *queueShowKey) Run(ctx context.Context, flags *Flags, output Output) error {
	return flags.withLedger(func(c *config.Config, l *ledger.Ledger) error {
		if err := c.CheckGame(k.Game); err != nil {
			return err
		}
		if s := c.Sink(k.Game); s.Type != config.SinkWebhook {
			return fmt.Errorf("the sink of game %s has type %s; the server generates keys only for type webhook", k.Game, s.Type)
		}
		return printGeneratedKeys(ctx, c.SinkKeys(k.Game), l, output)
	})
}

type webhooksCmd struct {
	List    struct{}               `cmd:"" help:"List the webhooks of all games."`
	Ping    struct{ webhookFlags } `cmd:"" help:"Send a test event to a webhook and print its response."`
	Enable  struct{ webhookFlags } `cmd:"" help:"Enable a webhook."`
	Disable struct {
		webhookFlags
		Reason string `required:"" placeholder:"TEXT" body:"reason" help:"The reason that the list of webhooks shows."`
	} `cmd:"" help:"Disable a webhook."`
	ShowKey webhooksShowKey `cmd:"" help:"Print the generated key that signs the events of a webhook."`
}

type webhookFlags struct {
	gameFlag
	Name string `arg:"" help:"The webhook's name in the configuration."`
}

type webhooksShowKey struct{ webhookFlags }

func (k *webhooksShowKey) Run(ctx context.Context, flags *Flags, output Output) error {
	return flags.withLedger(func(c *config.Config, l *ledger.Ledger) error {
		for _, h := range c.Games[k.Game].Webhooks {
			if h.Name == k.Name {
				return printGeneratedKeys(ctx, c.WebhookKeys(k.Game, h), l, output)
			}
		}
		return c.Missing(fmt.Sprintf("webhook %q of game %q", k.Name, k.Game))
	})
}

// printGeneratedKeys prints the generated keys of a receiver, one per line. It fails if the keys
// are in a file.
func printGeneratedKeys(ctx context.Context, source config.KeySource, l *ledger.Ledger, output Output) error {
	if source.File != "" {
		return fmt.Errorf("%s: the server reads the keys from %s and generates no key", source.Setting, source.File)
	}
	keys, err := source.Load(ctx, l.TokenKeys)
	for _, key := range keys {
		fmt.Fprintln(output.Stdout, key)
	}
	return err
}
