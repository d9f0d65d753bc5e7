package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// ofPlayer names a player.
type ofPlayer struct {
	ofGame
	Player string `required:"" placeholder:"ID" help:"The guest, or its account."`
}

func (p ofPlayer) path(rest string) string {
	return p.ofGame.path("/players/" + url.PathEscape(p.Player) + rest)
}

type resetDevice struct{ ofPlayer }

// Help implements kong's help provider.
func (*resetDevice) Help() string {
	return "Prints the new secret alone on a line; it is shown this once. The old one is a stranger's from then on. " +
		"Tokens stay in force: revoke them first, by server bars revoke.\n\n" +
		"Example: server players reset-device --game demo --player p_42"
}

// Run gives a guest a new device.
func (d *resetDevice) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var made struct{ Device string }
		if err := a.call(ctx, http.MethodPost, d.path("/device"), nil, &made); err != nil {
			return err
		}
		fmt.Fprintln(to.out, made.Device)
		return nil
	})
}

type playersUntie struct{ ofPlayer }

// Help implements kong's help provider.
func (*playersUntie) Help() string {
	return "The account speaks for the guest no longer, and its connections as the guest are closed with 4401. The next token of the account is a new player's.\n\n" +
		"Example: server players untie --game demo --player p_42"
}

// Run unties a guest from its account.
func (u *playersUntie) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var was struct{ Account string }
		if err := a.call(ctx, http.MethodDelete, u.path("/account"), nil, &was); err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s is untied\n", was.Account)
		return nil
	})
}
