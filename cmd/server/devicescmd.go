package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// playerFlags are the flags of commands that act on one player of a game.
type playerFlags struct {
	gameFlag
	Player string `required:"" placeholder:"ID" help:"The id of the guest, or of its account."`
}

func (p playerFlags) path(suffix string) string {
	return p.gameFlag.path("/players/" + url.PathEscape(p.Player) + suffix)
}

type playersResetDevice struct{ playerFlags }

// Help implements kong's help provider.
func (*playersResetDevice) Help() string {
	return "The command prints the new secret, which the server never shows again. The old secret no longer belongs to the player. " +
		"Tokens stay valid: revoke them first with `server tokens revoke`.\n\n" +
		"Example: server players reset-device --game demo --player p_42"
}

// Run resets the device secret of a guest.
func (d *playersResetDevice) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var created struct{ Device string }
		if err := admin.call(ctx, http.MethodPost, d.path("/device"), nil, &created); err != nil {
			return err
		}
		fmt.Fprintln(output.stdout, created.Device)
		return nil
	})
}

type playersUnlinkAccount struct{ playerFlags }

// Help implements kong's help provider.
func (*playersUnlinkAccount) Help() string {
	return "The server closes connections of the account as the guest with 4401. The next token of the account creates a new player.\n\n" +
		"Example: server players unlink-account --game demo --player p_42"
}

// Run unlinks a guest from its account.
func (u *playersUnlinkAccount) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var unlinked struct{ Account string }
		if err := admin.call(ctx, http.MethodDelete, u.path("/account"), nil, &unlinked); err != nil {
			return err
		}
		fmt.Fprintf(output.stdout, "%s is unlinked\n", unlinked.Account)
		return nil
	})
}
