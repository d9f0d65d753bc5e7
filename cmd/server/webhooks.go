package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

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

// Help implements kong's help provider.
func (*webhooksCmd) Help() string {
	return "A webhook receives events: settled matches, ended arenas, sealed days. " + opsHelp + "\n\n" +
		"Example: server webhooks list"
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

// Help implements kong's help provider.
func (*webhooksList) Help() string {
	return "PENDING counts deliveries in the task states waiting, claimed and later. DEAD counts deliveries that the server no longer retries. To see both, run `server tasks list --topic webhook/GAME/NAME --state all`.\n\nExample: server webhooks list"
}

// Run lists webhooks.
func (*webhooksList) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var list struct{ Webhooks []webhook.Status }
		if err := admin.call(ctx, http.MethodGet, "/webhooks", nil, &list); err != nil {
			return err
		}
		return printWebhooks(output, list.Webhooks...)
	})
}

// printWebhooks prints a table of webhooks.
func printWebhooks(output commandOutput, webhooks ...webhook.Status) error {
	table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "GAME\tNAME\tURL\tEVENTS\tPENDING\tDEAD\tDISABLED\tLAST ACCEPTED (THIS NODE)\tLAST ERROR (THIS NODE)")
	for _, h := range webhooks {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n",
			h.Game, h.Name, h.URL, strings.Join(h.Events, ","), h.Waiting, h.Dead, disabledSince(h), lastAccepted(h), lastWebhookError(h))
	}
	return table.Flush()
}

// disabledSince returns when and why a webhook was disabled, for a table.
func disabledSince(status webhook.Status) string {
	if status.Disabled == "" {
		return emptyCell
	}
	return time.UnixMilli(status.Since).UTC().Format(time.DateTime) + ": " + status.Disabled
}

// lastAccepted returns when a webhook last accepted an event, for a table.
func lastAccepted(h webhook.Status) string {
	if h.AcceptedAt == 0 {
		return emptyCell
	}
	return time.UnixMilli(h.AcceptedAt).UTC().Format(time.DateTime)
}

// lastWebhookError returns the last error of a webhook with its time, for a table.
func lastWebhookError(status webhook.Status) string {
	if status.Error == "" {
		return emptyCell
	}
	return time.UnixMilli(status.ErrorAt).UTC().Format(time.DateTime) + ": " + status.Error
}

type webhooksPing struct{ webhookFlags }

// Help implements kong's help provider.
func (*webhooksPing) Help() string {
	return "The server sends the event webhook.ping immediately, also to a disabled webhook. The command exits with 1 unless the webhook accepts it.\n\n" +
		"Example: server webhooks ping --game demo rewards"
}

// Run pings a webhook.
func (p *webhooksPing) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var pinged webhook.PingResult
		if err := admin.call(ctx, http.MethodPost, p.path("/ping"), nil, &pinged); err != nil {
			return err
		}
		if pinged.Error != "" {
			return fmt.Errorf("%s: after %d ms: %s", p.Name, pinged.TookMS, pinged.Error)
		}
		fmt.Fprintf(output.stdout, "%s: accepted with %d after %d ms\n", p.Name, pinged.Status, pinged.TookMS)
		return nil
	})
}

type webhooksEnable struct{ webhookFlags }

// Help implements kong's help provider.
func (*webhooksEnable) Help() string {
	return "To send the deliveries that failed in the meantime, run `server tasks requeue --all --topic webhook/GAME/NAME`.\n\n" +
		"Example: server webhooks enable --game demo rewards"
}

// Run enables a webhook.
func (e *webhooksEnable) Run(flags *cli, output commandOutput) error {
	return callAndPrintWebhook(flags, output, e.path("/enable"), nil)
}

type webhooksDisable struct {
	webhookFlags
	Reason string `required:"" placeholder:"TEXT" help:"The reason that the list of webhooks shows."`
}

// Help implements kong's help provider.
func (*webhooksDisable) Help() string {
	return "The server drops new events and counts them. Waiting deliveries become dead tasks, which you can requeue.\n\n" +
		"Example: server webhooks disable --game demo --reason 'moving to a new host' rewards"
}

// Run disables a webhook.
func (d *webhooksDisable) Run(flags *cli, output commandOutput) error {
	return callAndPrintWebhook(flags, output, d.path("/disable"), map[string]string{"reason": d.Reason})
}

// callAndPrintWebhook sends a request that changes a webhook, and prints the changed webhook from
// the response.
func callAndPrintWebhook(flags *cli, output commandOutput, path string, body any) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var status webhook.Status
		if err := admin.call(ctx, http.MethodPost, path, body, &status); err != nil {
			return err
		}
		return printWebhooks(output, status)
	})
}

type webhooksShowKey struct{ webhookFlags }

// Help implements kong's help provider.
func (*webhooksShowKey) Help() string {
	return "The receiver needs the key to verify signatures. The command reads the database, also beside a running server.\n\n" +
		"Example: server webhooks show-key --game demo rewards"
}

// Run prints the keys that the server generated for a webhook, one per line.
func (k *webhooksShowKey) Run(flags *cli, output commandOutput) error {
	return withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		for _, h := range c.Games[k.Game].Webhooks {
			if h.Name == k.Name {
				return c.webhookKeySource(k.Game, h).print(ctx, l, output)
			}
		}
		return c.missing(fmt.Sprintf("webhook %q of game %q", k.Name, k.Game))
	})
}
