package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"laststand/internal/hooks"
	"laststand/internal/ledger"
)

type webhooksCmd struct {
	List    webhooksList    `cmd:"" help:"List the webhooks of all games."`
	Ping    webhooksPing    `cmd:"" help:"Send a webhook a message now, and say how it answers."`
	Enable  webhooksEnable  `cmd:"" help:"Have a webhook told again."`
	Disable webhooksDisable `cmd:"" help:"Have a webhook told nothing."`
	Key     webhooksKey     `cmd:"" help:"Print the generated key of a webhook."`
}

// Help implements kong's help provider.
func (*webhooksCmd) Help() string {
	return "Your services that are told of settled matches, ended arenas and sealed days. Speaks to the running server, at its --ops-listen.\n\n" +
		"Example: server webhooks list"
}

// ofHook names a webhook.
type ofHook struct {
	ofGame
	Name string `arg:"" help:"The webhook's name in the configuration."`
}

func (o ofHook) path(rest string) string {
	return o.ofGame.path("/webhooks/" + url.PathEscape(o.Name) + rest)
}

type webhooksList struct{}

// Help implements kong's help provider.
func (*webhooksList) Help() string {
	return "WAITING are deliveries to come, DEAD those given up: see `server tasks list --topic webhook/GAME/NAME`.\n\nExample: server webhooks list"
}

// Run lists webhooks.
func (*webhooksList) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var list struct{ Webhooks []hooks.Status }
		if err := a.call(ctx, http.MethodGet, "/webhooks", nil, &list); err != nil {
			return err
		}
		return printHooks(to, list.Webhooks...)
	})
}

// printHooks prints a table of webhooks.
func printHooks(to console, all ...hooks.Status) error {
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "GAME\tNAME\tURL\tEVENTS\tWAITING\tDEAD\tDISABLED\tLAST ERROR HERE")
	for _, h := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n",
			h.Game, h.Name, h.URL, strings.Join(h.Events, ","), h.Waiting, h.Dead, disabledSince(h), lastHookError(h))
	}
	return table.Flush()
}

func disabledSince(h hooks.Status) string {
	if h.Disabled == "" {
		return none
	}
	return time.UnixMilli(h.Since).UTC().Format(time.DateTime) + ": " + h.Disabled
}

func lastHookError(h hooks.Status) string {
	if h.Error == "" {
		return none
	}
	return time.UnixMilli(h.ErrorAt).UTC().Format(time.DateTime) + ": " + h.Error
}

type webhooksPing struct{ ofHook }

// Help implements kong's help provider.
func (*webhooksPing) Help() string {
	return "Sends webhook.ping past the queue, also where the webhook is disabled; ends with 1 unless it is accepted.\n\n" +
		"Example: server webhooks ping --game demo rewards"
}

// Run pings a webhook.
func (p *webhooksPing) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var pinged hooks.Pinged
		if err := a.call(ctx, http.MethodPost, p.path("/ping"), nil, &pinged); err != nil {
			return err
		}
		if pinged.Error != "" {
			return fmt.Errorf("%s: after %d ms: %s", p.Name, pinged.TookMS, pinged.Error)
		}
		fmt.Fprintf(to.out, "%s: accepted with %d after %d ms\n", p.Name, pinged.Status, pinged.TookMS)
		return nil
	})
}

type webhooksEnable struct{ ofHook }

// Help implements kong's help provider.
func (*webhooksEnable) Help() string {
	return "What died while it was disabled is told with `server tasks requeue --all --topic webhook/GAME/NAME`.\n\n" +
		"Example: server webhooks enable --game demo rewards"
}

// Run enables a webhook.
func (e *webhooksEnable) Run(flags *cli, to console) error {
	return askHook(flags, to, e.path("/enable"), nil)
}

type webhooksDisable struct {
	ofHook
	Why string `required:"" placeholder:"TEXT" help:"Why; it is shown."`
}

// Help implements kong's help provider.
func (*webhooksDisable) Help() string {
	return "What happens from now on is not told, and counted; what waits dies, and may be requeued.\n\n" +
		"Example: server webhooks disable --game demo --why 'it moves' rewards"
}

// Run disables a webhook.
func (d *webhooksDisable) Run(flags *cli, to console) error {
	return askHook(flags, to, d.path("/disable"), map[string]string{"why": d.Why})
}

// askHook asks for a webhook to be changed, and prints what it is then.
func askHook(flags *cli, to console, path string, body any) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var h hooks.Status
		if err := a.call(ctx, http.MethodPost, path, body, &h); err != nil {
			return err
		}
		return printHooks(to, h)
	})
}

type webhooksKey struct{ ofHook }

// Help implements kong's help provider.
func (*webhooksKey) Help() string {
	return "The receiver needs it to verify signatures. Works beside a running server.\n\n" +
		"Example: server webhooks key --game demo rewards"
}

// Run prints the key of a webhook that no file has.
func (k *webhooksKey) Run(flags *cli, to console) error {
	return withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		for _, h := range c.Games[k.Game].Webhooks {
			if h.Name == k.Name {
				return c.hookKeyPlace(k.Game, h).print(ctx, l, to)
			}
		}
		return fmt.Errorf("there is no webhook %q of game %q in the configuration", k.Name, k.Game)
	})
}
