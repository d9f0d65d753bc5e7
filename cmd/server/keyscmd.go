package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"

	"laststand/internal/identity"
)

type keysCmd struct {
	List   keysList   `cmd:"" help:"List the keys that tokens are signed by, without their secrets."`
	Rotate keysRotate `cmd:"" help:"Make a new key, which signs from 10 s later on."`
	Retire keysRetire `cmd:"" help:"Forget a key: tokens signed by it are refused."`
}

// Help implements kong's help provider.
func (*keysCmd) Help() string {
	return "Of generated keys; configured ones are rotated in their files, which are read again every 10 s. " +
		"Speaks to the running server, at its --ops-listen.\n\nExample: server keys rotate --game demo"
}

// keysOf names whose keys a command is about.
type keysOf struct {
	Game string `placeholder:"NAME" help:"The game; none for the server's own keys, of admin tokens."`
}

func (k keysOf) path(rest string) string { return pathOf(k.Game, "/keys"+rest) }

// pathOf is a path of a game, or where there is none of the server's own.
func pathOf(game, rest string) string {
	if game == "" {
		return rest
	}
	return ofGame{game}.path(rest)
}

type keysList struct{ keysOf }

// Help implements kong's help provider.
func (*keysList) Help() string { return "Example: server keys list --game demo" }

// Run lists keys.
func (k *keysList) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var list struct{ Keys []identity.KeyShown }
		if err := a.call(ctx, http.MethodGet, k.path(""), nil, &list); err != nil {
			return err
		}
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tALG\tSIGNS\tSINCE")
		for _, key := range list.Keys {
			fmt.Fprintf(table, "%s\t%s\t%t\t%s\n", key.ID, key.Alg, key.Signs, instant(key.CreatedAt))
		}
		return table.Flush()
	})
}

type keysRotate struct{ keysOf }

// Help implements kong's help provider.
func (*keysRotate) Help() string {
	return "The former keys go on verifying until they are retired.\n\nExample: server keys rotate --game demo"
}

// Run makes a key.
func (k *keysRotate) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var made identity.KeyShown
		if err := a.call(ctx, http.MethodPost, k.path("/rotate"), nil, &made); err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s signs in %v\n", made.ID, identity.SettleIn)
		return nil
	})
}

type keysRetire struct {
	keysOf
	ID string `arg:"" help:"The key's id."`
}

// Help implements kong's help provider.
func (*keysRetire) Help() string {
	return "Connections that began with a token of it are closed with 4401.\n\nExample: server keys retire --game demo k_5YTSVMLPDQIV"
}

// Run retires a key.
func (k *keysRetire) Run(flags *cli, to console) error {
	return remove(flags, to, k.path("/"+url.PathEscape(k.ID)), k.ID+" is retired")
}
