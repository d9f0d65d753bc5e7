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
	List   keysList   `cmd:"" help:"List signing keys, without their secrets."`
	Rotate keysRotate `cmd:"" help:"Rotate the signing key: create a key that signs after 10 s."`
	Retire keysRetire `cmd:"" help:"Retire a key, so that the server refuses its tokens."`
}

// Help implements kong's help provider.
func (*keysCmd) Help() string {
	return "These commands change generated keys. To rotate configured keys, change their files; the server reads them again every 10 s. " +
		opsHelp + "\n\nExample: server keys rotate --game demo"
}

// keyOwnerFlag is the flag that selects the owner of keys: a game, or without it the server.
type keyOwnerFlag struct {
	Game string `placeholder:"NAME" help:"The game of the keys (default: the server's own keys, which sign admin tokens)."`
}

func (k keyOwnerFlag) path(suffix string) string { return adminPath(k.Game, "/keys"+suffix) }

// adminPath returns the path of a game's resource in the admin API. For game "" it returns the
// path of the same resource of the server itself.
func adminPath(game, suffix string) string {
	if game == "" {
		return suffix
	}
	return gameFlag{game}.path(suffix)
}

type keysList struct{ keyOwnerFlag }

// Help implements kong's help provider.
func (*keysList) Help() string { return "Example: server keys list --game demo" }

// Run lists keys.
func (k *keysList) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var list struct{ Keys []identity.KeyInfo }
		if err := admin.call(ctx, http.MethodGet, k.path(""), nil, &list); err != nil {
			return err
		}
		table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tALG\tSIGNS\tSINCE")
		for _, key := range list.Keys {
			fmt.Fprintf(table, "%s\t%s\t%t\t%s\n", key.ID, key.Alg, key.Signs, formatTime(key.CreatedAt))
		}
		return table.Flush()
	})
}

type keysRotate struct{ keyOwnerFlag }

// Help implements kong's help provider.
func (*keysRotate) Help() string {
	return "Earlier keys stay valid for verification until you retire them.\n\nExample: server keys rotate --game demo"
}

// Run creates a key.
func (k *keysRotate) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var created identity.KeyInfo
		if err := admin.call(ctx, http.MethodPost, k.path("/rotate"), nil, &created); err != nil {
			return err
		}
		fmt.Fprintf(output.stdout, "%s signs in %v\n", created.ID, identity.SigningDelay)
		return nil
	})
}

type keysRetire struct {
	keyOwnerFlag
	ID string `arg:"" help:"The id of the key."`
}

// Help implements kong's help provider.
func (*keysRetire) Help() string {
	return "The server closes connections that began with a token of the key, with 4401.\n\nExample: server keys retire --game demo k_5YTSVMLPDQIV"
}

// Run retires a key.
func (k *keysRetire) Run(flags *cli, output commandOutput) error {
	return deleteResource(flags, output, k.path("/"+url.PathEscape(k.ID)), k.ID+" is retired")
}
