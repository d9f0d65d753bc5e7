package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"
)

type tokensCmd struct {
	Revoke      tokensRevoke  `cmd:"" help:"Revoke a token, or all tokens of a subject."`
	Restore     tokensRestore `cmd:"" help:"Remove a revocation."`
	ListRevoked revokedList   `cmd:"" help:"List revocations, newest first."`
}

// Help implements kong's help provider.
func (*tokensCmd) Help() string {
	return "A revocation takes effect on all nodes within seconds, also on live connections. " + opsHelp + "\n\n" +
		"Example: server tokens revoke --game demo --subject p_42 --reason 'a lost phone'"
}

// revocationView is a revocation as the admin API returns it. Times are epoch ms; ExpiresAt 0
// means never.
type revocationView struct {
	Kind, ID, Reason string
	CreatedBy        string `json:"created_by"`
	CreatedAt        int64  `json:"created_at"`
	ExpiresAt        int64  `json:"expires_at"`
	IssuedBefore     int64  `json:"issued_before"`
}

// tokenOwnerFlags are the flags that select tokens of a game or of admins.
type tokenOwnerFlags struct {
	Game   string `placeholder:"NAME" help:"The game of the tokens."`
	Admins bool   `help:"Admin tokens, which belong to no game."`
}

// Validate implements kong's validation.
func (o tokenOwnerFlags) Validate() error {
	if (o.Game != "") == o.Admins {
		return errors.New("give either --game or --admins")
	}
	return nil
}

func (o tokenOwnerFlags) path(suffix string) string { return adminPath(o.Game, "/revocations"+suffix) }

// revocationFlags are the flags that select what a revocation applies to: one token, or all
// tokens of a subject.
type revocationFlags struct {
	tokenOwnerFlags
	TokenID string `name:"token-id" placeholder:"JTI" help:"The jti of one token."`
	Subject string `placeholder:"ID" help:"The sub of the tokens."`
}

// Validate implements kong's validation.
func (r revocationFlags) Validate() error {
	if (r.TokenID == "") == (r.Subject == "") {
		return errors.New("give either --token-id or --subject")
	}
	return r.tokenOwnerFlags.Validate()
}

func (r revocationFlags) path() string {
	if r.Subject == "" {
		return r.tokenOwnerFlags.path("/token/" + url.PathEscape(r.TokenID))
	}
	return r.tokenOwnerFlags.path("/subject/" + url.PathEscape(r.Subject))
}

type tokensRevoke struct {
	revocationFlags
	Before time.Time     `placeholder:"TIME" help:"With --subject: revoke only tokens issued before this time in RFC 3339 (default: 30 s from now, because clocks differ)."`
	Reason string        `required:"" placeholder:"TEXT" help:"The reason; the server stores it."`
	For    time.Duration `placeholder:"TIME" help:"How long the revocation lasts; the lifetime of the tokens is enough (default: forever)."`
}

// Help implements kong's help provider.
func (*tokensRevoke) Help() string {
	return "The server closes connections that were opened with such a token, with 4401. Players keep their seats and return with a new token. " +
		"Revoking all tokens of a guest also detaches its device: see `server players reset-device`.\n\n" +
		"Example: server tokens revoke --game demo --subject p_42 --reason 'a lost phone'\n" +
		"         server tokens revoke --admins --subject ops --reason 'a lost laptop'"
}

// Run revokes tokens.
func (c *tokensRevoke) Run(flags *cli, output commandOutput) error {
	body := map[string]any{"reason": c.Reason, "expires_at": expiryAfter(c.For)}
	if c.Subject != "" && !c.Before.IsZero() {
		body["issued_before"] = c.Before.UnixMilli()
	}
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var revocation revocationView
		if err := admin.call(ctx, http.MethodPut, c.path(), body, &revocation); err != nil {
			return err
		}
		fmt.Fprintf(output.stdout, "%s %s is revoked %s\n", revocation.Kind, revocation.ID, formatExpiry(revocation.ExpiresAt))
		return nil
	})
}

type tokensRestore struct{ revocationFlags }

// Help implements kong's help provider.
func (*tokensRestore) Help() string {
	return "Tokens that have not expired are valid again.\n\nExample: server tokens restore --game demo --subject p_42"
}

// Run removes a revocation.
func (c *tokensRestore) Run(flags *cli, output commandOutput) error {
	return deleteResource(flags, output, c.path(), "the revocation of "+c.TokenID+c.Subject+" is removed")
}

type revokedList struct {
	tokenOwnerFlags
	Kind string `enum:"token,subject,erased,linked,unlinked,all" default:"all" placeholder:"all" help:"List only one kind: token, subject, erased, linked or unlinked (default: all)."`
}

// Help implements kong's help provider.
func (*revokedList) Help() string {
	return "Operators create the kinds token and subject. The server creates the others: erased players, and sessions that ended when an account was linked or unlinked.\n\n" +
		"Example: server tokens list-revoked --game demo --kind subject"
}

// Run prints a table of revocations.
func (c *revokedList) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "KIND\tID\tSINCE (UTC)\tUNTIL (UTC)\tISSUED BEFORE (UTC)\tCREATED BY\tREASON")
		query := url.Values{"limit": {"200"}}
		if c.Kind != "all" {
			query.Set("kind", c.Kind)
		}
		for {
			var page struct {
				Revocations []revocationView
				NextCursor  string `json:"next_cursor"`
			}
			if err := admin.call(ctx, http.MethodGet, c.path("?"+query.Encode()), nil, &page); err != nil {
				return err
			}
			for _, r := range page.Revocations {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Kind, r.ID, formatTime(r.CreatedAt), formatTime(r.ExpiresAt), formatTime(r.IssuedBefore), r.CreatedBy, r.Reason)
			}
			if page.NextCursor == "" {
				return table.Flush()
			}
			query.Set("cursor", page.NextCursor)
		}
	})
}
