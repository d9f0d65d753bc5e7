package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"laststand/internal/config"
	"laststand/internal/ledger"
	"laststand/internal/webhook"
)

type webhooksCmd struct {
	List    webhooksList    `cmd:"" help:"List the webhooks of all games."`
	Ping    webhooksPing    `cmd:"" help:"Send a test event to a webhook and print its response."`
	Enable  webhooksEnable  `cmd:"" help:"Enable a webhook."`
	Disable webhooksDisable `cmd:"" help:"Disable a webhook."`
	ShowKey webhooksShowKey `cmd:"" help:"Print the generated key that signs the events of a webhook."`
}

// webhookFlags are the flag and the argument that name a webhook.
type webhookFlags struct {
	gameFlag
	Name string `arg:"" help:"The webhook's name in the configuration."`
}

func (w webhookFlags) path(suffix string) string {
	return w.gameFlag.path("/webhooks/" + url.PathEscape(w.Name) + suffix)
}

type webhooksList struct{}

func (*webhooksList) Run(ctx context.Context, admin *adminClient) error {
	return webhookTable.printList(ctx, admin, "/webhooks", "webhooks", url.Values{}, 0)
}

var webhookTable = table[webhook.Status]{"GAME\tNAME\tURL\tEVENTS\tPENDING\tDEAD\tDISABLED\tLAST ACCEPTED (THIS NODE)\tLAST ERROR (THIS NODE)", func(h webhook.Status) []any {
	return []any{
		h.Game, h.Name, h.URL, strings.Join(h.Events, ","), h.Waiting, h.Dead,
		timeAndText(h.Since, h.Disabled), formatTime(h.AcceptedAt), timeAndText(h.ErrorAt, h.Error),
	}
}}

// timeAndText returns a text and its time (epoch ms), for a table. It returns "-" for no text.
func timeAndText(ms int64, text string) string {
	if text == "" {
		return emptyCell
	}
	return formatTime(ms) + ": " + text
}

type webhooksPing struct{ webhookFlags }

func (p *webhooksPing) Run(ctx context.Context, admin *adminClient) error {
	var pinged webhook.PingResult
	if err := admin.call(ctx, http.MethodPost, p.path("/ping"), nil, &pinged); err != nil {
		return err
	}
	if pinged.Error != "" {
		return fmt.Errorf("%s: after %d ms: %s", p.Name, pinged.TookMS, pinged.Error)
	}
	return admin.printf("%s: accepted with %d after %d ms\n", p.Name, pinged.Status, pinged.TookMS)
}

type webhooksEnable struct{ webhookFlags }

func (e *webhooksEnable) Run(ctx context.Context, admin *adminClient) error {
	return webhookTable.callAndPrint(ctx, admin, http.MethodPost, e.path("/enable"), nil)
}

type webhooksDisable struct {
	webhookFlags
	Reason string `required:"" placeholder:"TEXT" help:"The reason that the list of webhooks shows."`
}

func (d *webhooksDisable) Run(ctx context.Context, admin *adminClient) error {
	return webhookTable.callAndPrint(ctx, admin, http.MethodPost, d.path("/disable"), map[string]string{"reason": d.Reason})
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
