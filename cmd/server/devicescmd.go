package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// playerFlags are the flags of commands that act on one player of a game.
type ofPlayer struct {
	ofGame
	Player string `required:"" placeholder:"ID" help:"The id of the guest, or of its account."`
}

func (p ofPlayer) path(rest string) string {
	return p.ofGame.path("/players/" + url.PathEscape(p.Player) + rest)
}

type playersResetDevice struct{ ofPlayer }

// Help implements kong's help provider.
func (*playersResetDevice) Help() string {
	return "The command prints the new secret, which the server never shows again. The old secret no longer belongs to the player. " +
		"Tokens stay valid: revoke them first with `server tokens revoke`.\n\n" +
		"Example: server players reset-device --game demo --player p_42"
}

// Run resets the device secret of a guest.
func (d *playersResetDevice) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var made struct{ Device string }
		if err := a.call(ctx, http.MethodPost, d.path("/device"), nil, &made); err != nil {
			return err
		}
		fmt.Fprintln(to.out, made.Device)
		return nil
	})
}

type playersUnlinkAccount struct{ ofPlayer }

// Help implements kong's help provider.
func (*playersUnlinkAccount) Help() string {
	return "The server closes connections of the account as the guest with 4401. The next token of the account creates a new player.\n\n" +
		"Example: server players unlink-account --game demo --player p_42"
}

// Run unlinks a guest from its account.
func (u *playersUnlinkAccount) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var was struct{ Account string }
		if err := a.call(ctx, http.MethodDelete, u.path("/account"), nil, &was); err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s is unlinked\n", was.Account)
		return nil
	})
}
