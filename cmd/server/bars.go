package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"
)

type barsCmd struct {
	List   barsList   `cmd:"" help:"List who and what is barred."`
	Ban    barsBan    `cmd:"" help:"Keep a player out."`
	Revoke barsRevoke `cmd:"" help:"Have tokens refused that were issued."`
	Lift   barsLift   `cmd:"" help:"Let in again."`
}

// Help implements kong's help provider.
func (*barsCmd) Help() string {
	return "Takes effect on all nodes within seconds, on live connections too. Speaks to the running server, at its --ops-listen.\n\n" +
		"Example: server bars ban --game demo --player p_42 --reason 'two accounts' --for 72h"
}

// shownBar is a bar as the admin API shows it.
type shownBar struct {
	Kind, ID, Reason, By string
	At                   int64
	EndsAt               int64 `json:"ends_at"`
	IssuedBefore         int64 `json:"issued_before"`
}

// barsOf names whose tokens and players a command is about.
type barsOf struct {
	Game   string `placeholder:"NAME" help:"The game."`
	Admins bool   `help:"Tokens of admins, which are in no game."`
}

// Validate implements kong's validation.
func (b barsOf) Validate() error {
	if (b.Game != "") == b.Admins {
		return fmt.Errorf("name either --game or --admins")
	}
	return nil
}

func (b barsOf) path(rest string) string { return pathOf(b.Game, rest) }

type barsList struct {
	barsOf
	Kind string `enum:"ban,token,subject,erased,tied,untied,all" default:"all" placeholder:"all" help:"ban, token, subject, erased, tied, untied or all."`
}

// Help implements kong's help provider.
func (*barsList) Help() string { return "Example: server bars list --game demo --kind ban" }

// Run lists bars in force, the last one first.
func (l *barsList) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "KIND\tID\tSINCE\tUNTIL\tTOKENS BEFORE\tBY\tREASON")
		query := url.Values{"limit": {"200"}}
		if l.Kind != "all" {
			query.Set("kind", l.Kind)
		}
		for {
			var page struct {
				Bars       []shownBar
				NextCursor string `json:"next_cursor"`
			}
			if err := a.call(ctx, http.MethodGet, l.path("/bars?"+query.Encode()), nil, &page); err != nil {
				return err
			}
			for _, b := range page.Bars {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.Kind, b.ID, instant(b.At), instant(b.EndsAt), instant(b.IssuedBefore), b.By, b.Reason)
			}
			if page.NextCursor == "" {
				return table.Flush()
			}
			query.Set("cursor", page.NextCursor)
		}
	})
}

// instant shows epoch ms; 0 as nothing.
func instant(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format(time.DateTime)
}

// ends is when a bar ends that is set for a time from now; 0: never.
func ends(d time.Duration) int64 {
	if d == 0 {
		return 0
	}
	return time.Now().Add(d).UnixMilli()
}

type barsBan struct {
	ofGame
	Player string        `required:"" placeholder:"ID" help:"The player, or an account of yours."`
	Reason string        `required:"" placeholder:"TEXT" help:"Why; the player reads it."`
	For    time.Duration `placeholder:"TIME" help:"For how long (default: for good)."`
}

// Help implements kong's help provider.
func (*barsBan) Help() string {
	return "The player's connection is closed with 4410, and what the player is in is forfeited.\n\n" +
		"Example: server bars ban --game demo --player p_42 --reason 'two accounts' --for 72h"
}

// Run bans a player.
func (b *barsBan) Run(flags *cli, to console) error {
	return putBar(flags, to, b.path("/bars/ban/"+url.PathEscape(b.Player)), map[string]any{"reason": b.Reason, "ends_at": ends(b.For)})
}

type barsRevoke struct {
	barsOf
	TokenID string        `name:"token-id" placeholder:"JTI" help:"One token, by its jti."`
	Subject string        `placeholder:"ID" help:"All tokens of a sub that have been issued."`
	Before  time.Time     `placeholder:"TIME" help:"Of the subject only those issued before (RFC 3339; default: 30 s from now, so that a clock that is ahead does not matter)."`
	Reason  string        `required:"" placeholder:"TEXT" help:"Why; it is kept."`
	For     time.Duration `placeholder:"TIME" help:"For how long: until the tokens have expired is enough (default: for good)."`
}

// Help implements kong's help provider.
func (*barsRevoke) Help() string {
	return "Connections that began with such a token are closed with 4401; seats stay, and a new token leads back to them. " +
		"A guest's device is detached with its tokens: give it a new one by server players reset-device.\n\n" +
		"Example: server bars revoke --game demo --subject p_42 --reason 'a lost phone'\n" +
		"         server bars revoke --admins --subject ops --reason 'a lost laptop'"
}

// Run revokes tokens.
func (b *barsRevoke) Run(flags *cli, to console) error {
	if (b.TokenID == "") == (b.Subject == "") {
		return fmt.Errorf("name either --token-id or --subject")
	}
	body := map[string]any{"reason": b.Reason, "ends_at": ends(b.For)}
	if b.Subject == "" {
		return putBar(flags, to, b.path("/bars/token/"+url.PathEscape(b.TokenID)), body)
	}
	if !b.Before.IsZero() {
		body["issued_before"] = b.Before.UnixMilli()
	}
	return putBar(flags, to, b.path("/bars/subject/"+url.PathEscape(b.Subject)), body)
}

func putBar(flags *cli, to console, path string, body map[string]any) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var set shownBar
		if err := a.call(ctx, http.MethodPut, path, body, &set); err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s %s is barred, until: %s\n", set.Kind, set.ID, instant(set.EndsAt))
		return nil
	})
}

type barsLift struct {
	barsOf
	Kind string `enum:"ban,token,subject" default:"ban" placeholder:"ban" help:"ban, token or subject."`
	ID   string `name:"id" required:"" placeholder:"ID" help:"The player, the token's jti, or the subject."`
}

// Help implements kong's help provider.
func (*barsLift) Help() string { return "Example: server bars lift --game demo --id p_42" }

// Run lifts a bar.
func (b *barsLift) Run(flags *cli, to console) error {
	return remove(flags, to, b.path("/bars/"+b.Kind+"/"+url.PathEscape(b.ID)), b.Kind+" "+b.ID+" is lifted")
}

// remove has the server remove something, and says so.
func remove(flags *cli, to console, path, done string) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		body, err := a.open(ctx, http.MethodDelete, path, nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(to.out, done)
		return body.Close()
	})
}
