package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"
)

type bansCmd struct {
	Add    bansAdd    `cmd:"" help:"Ban a player from a game."`
	Remove bansRemove `cmd:"" help:"Remove the ban of a player."`
	List   bansList   `cmd:"" help:"List the bans of a game, newest first."`
}

// Help implements kong's help provider.
func (*bansCmd) Help() string {
	return "A ban takes effect on all nodes within seconds, also on live connections. " + opsHelp + "\n\n" +
		"Example: server bans add --game demo --player p_42 --reason 'two accounts' --for 72h"
}

// banView is a ban as the admin API returns it. Times are epoch ms; ExpiresAt 0 means never.
type banView struct {
	Player, Reason string
	CreatedBy      string `json:"created_by"`
	CreatedAt      int64  `json:"created_at"`
	ExpiresAt      int64  `json:"expires_at"`
}

// banFlags are the flags that name the player of a ban.
type banFlags struct {
	gameFlag
	Player string `required:"" placeholder:"ID" help:"The id of the player, or of an account of your login service."`
}

func (b banFlags) path() string { return b.gameFlag.path("/bans/" + url.PathEscape(b.Player)) }

type bansAdd struct {
	banFlags
	Reason string        `required:"" placeholder:"TEXT" help:"The reason; the player sees it."`
	For    time.Duration `placeholder:"TIME" help:"How long the ban lasts, such as 72h (default: forever)."`
}

// Help implements kong's help provider.
func (*bansAdd) Help() string {
	return "The server closes the player's connection with 4410. The player forfeits the current match.\n\n" +
		"Example: server bans add --game demo --player p_42 --reason 'two accounts' --for 72h"
}

// Run bans a player.
func (b *bansAdd) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var ban banView
		body := map[string]any{"reason": b.Reason, "expires_at": expiryAfter(b.For)}
		if err := admin.call(ctx, http.MethodPut, b.path(), body, &ban); err != nil {
			return err
		}
		fmt.Fprintf(output.stdout, "%s is banned %s\n", ban.Player, formatExpiry(ban.ExpiresAt))
		return nil
	})
}

type bansRemove struct{ banFlags }

// Help implements kong's help provider.
func (*bansRemove) Help() string {
	return "The player can connect again.\n\nExample: server bans remove --game demo --player p_42"
}

// Run removes a ban.
func (b *bansRemove) Run(flags *cli, output commandOutput) error {
	return deleteResource(flags, output, b.path(), "the ban of "+b.Player+" is removed")
}

type bansList struct{ gameFlag }

// Help implements kong's help provider.
func (*bansList) Help() string { return "Example: server bans list --game demo" }

// Run prints a table of bans.
func (l *bansList) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "PLAYER\tSINCE (UTC)\tUNTIL (UTC)\tCREATED BY\tREASON")
		query := url.Values{"limit": {"200"}}
		for {
			var page struct {
				Bans       []banView
				NextCursor string `json:"next_cursor"`
			}
			if err := admin.call(ctx, http.MethodGet, l.path("/bans?"+query.Encode()), nil, &page); err != nil {
				return err
			}
			for _, b := range page.Bans {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", b.Player, formatTime(b.CreatedAt), formatTime(b.ExpiresAt), b.CreatedBy, b.Reason)
			}
			if page.NextCursor == "" {
				return table.Flush()
			}
			query.Set("cursor", page.NextCursor)
		}
	})
}
