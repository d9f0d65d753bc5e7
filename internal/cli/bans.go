package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"laststand/internal/ops"
)

type bansCmd struct {
	Add    bansAdd    `cmd:"" help:"Ban a player from a game."`
	Remove bansRemove `cmd:"" help:"Remove the ban of a player."`
	List   bansList   `cmd:"" help:"List the bans of a game, newest first."`
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

func (b *bansAdd) Run(ctx context.Context, admin *adminClient) error {
	var ban ops.Ban
	body := map[string]any{"reason": b.Reason, "expires_at": expiryAfter(b.For)}
	if err := admin.call(ctx, http.MethodPut, b.path(), body, &ban); err != nil {
		return err
	}
	return admin.printf("%s is banned %s\n", ban.Player, formatExpiry(ban.ExpiresAt))
}

type bansRemove struct{ banFlags }

func (b *bansRemove) Run(ctx context.Context, admin *adminClient) error {
	return admin.callAndPrint(ctx, http.MethodDelete, b.path(), "the ban of "+b.Player+" is removed")
}

type bansList struct{ gameFlag }

func (l *bansList) Run(ctx context.Context, admin *adminClient) error {
	return banTable.printList(ctx, admin, l.path("/bans"), "bans", listQuery(), 0)
}

var banTable = table[ops.Ban]{"PLAYER\tSINCE (UTC)\tUNTIL (UTC)\tCREATED BY\tREASON", func(b ops.Ban) []any {
	return []any{b.Player, formatTime(b.CreatedAt), formatTime(b.ExpiresAt), b.CreatedBy, b.Reason}
}}

type tokensCmd struct {
	Revoke      tokensRevoke  `cmd:"" help:"Revoke a token, or all tokens of a subject."`
	Restore     tokensRestore `cmd:"" help:"Remove a revocation."`
	ListRevoked revokedList   `cmd:"" help:"List revocations, newest first."`
}

// tokenOwnerFlags are the flags that select tokens of a game or of admins.
type tokenOwnerFlags struct {
	Game   string `placeholder:"NAME" help:"The game of the tokens."`
	Admins bool   `help:"Admin tokens, which belong to no game."`
}

func (o tokenOwnerFlags) Validate() error {
	if (o.Game != "") == o.Admins {
		return errors.New("give either --game or --admins")
	}
	return nil
}

// revocationFlags are the flags that select what a revocation applies to: one token, or all
// tokens of a subject.
type revocationFlags struct {
	tokenOwnerFlags
	TokenID string `name:"token-id" placeholder:"JTI" help:"The jti of one token."`
	Subject string `placeholder:"ID" help:"The sub of the tokens."`
}

func (r revocationFlags) Validate() error {
	if (r.TokenID == "") == (r.Subject == "") {
		return errors.New("give either --token-id or --subject")
	}
	return r.tokenOwnerFlags.Validate()
}

func (r revocationFlags) path() string {
	if r.Subject == "" {
		return gamePath(r.Game, "/revocations/token/"+url.PathEscape(r.TokenID))
	}
	return gamePath(r.Game, "/revocations/subject/"+url.PathEscape(r.Subject))
}

type tokensRevoke struct {
	revocationFlags
	Before time.Time     `placeholder:"TIME" help:"With --subject: revoke only tokens issued before this time in RFC 3339 (default: 30 s from now, because clocks differ)."`
	Reason string        `required:"" placeholder:"TEXT" help:"The reason; the server stores it."`
	For    time.Duration `placeholder:"TIME" help:"How long the revocation lasts; the lifetime of the tokens is enough (default: forever)."`
}

func (c *tokensRevoke) Run(ctx context.Context, admin *adminClient) error {
	body := map[string]any{"reason": c.Reason, "expires_at": expiryAfter(c.For)}
	if c.Subject != "" && !c.Before.IsZero() {
		body["issued_before"] = c.Before.UnixMilli()
	}
	var revocation ops.Revocation
	if err := admin.call(ctx, http.MethodPut, c.path(), body, &revocation); err != nil {
		return err
	}
	return admin.printf("%s %s is revoked %s\n", revocation.Kind, revocation.ID, formatExpiry(revocation.ExpiresAt))
}

type tokensRestore struct{ revocationFlags }

func (c *tokensRestore) Run(ctx context.Context, admin *adminClient) error {
	return admin.callAndPrint(ctx, http.MethodDelete, c.path(), "the revocation of "+c.TokenID+c.Subject+" is removed")
}

type revokedList struct {
	tokenOwnerFlags
	Kind string `enum:"token,subject,erased,linked,unlinked,all" default:"all" placeholder:"all" help:"List only one kind: token, subject, erased, linked or unlinked (default: all)."`
}

func (c *revokedList) Run(ctx context.Context, admin *adminClient) error {
	query := listQuery("kind", c.Kind)
	if c.Kind == "all" {
		query.Del("kind")
	}
	return revocationTable.printList(ctx, admin, gamePath(c.Game, "/revocations"), "revocations", query, 0)
}

var revocationTable = table[ops.Revocation]{"KIND\tID\tSINCE (UTC)\tUNTIL (UTC)\tISSUED BEFORE (UTC)\tCREATED BY\tREASON", func(r ops.Revocation) []any {
	return []any{r.Kind, r.ID, formatTime(r.CreatedAt), formatTime(r.ExpiresAt), formatTime(r.IssuedBefore), r.CreatedBy, r.Reason}
}}
