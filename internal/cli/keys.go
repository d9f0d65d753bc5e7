package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"laststand/internal/config"
	"laststand/internal/identity"
	"laststand/internal/ledger"
)

type keysCmd struct {
	List   keysList   `cmd:"" help:"List signing keys, without their secrets."`
	Rotate keysRotate `cmd:"" help:"Rotate the signing key: create a key that signs after 10 s."`
	Retire keysRetire `cmd:"" help:"Retire a key, so that the server refuses its tokens."`
}

// keyOwnerFlag is the flag that selects the owner of keys: a game, or without it the server.
type keyOwnerFlag struct {
	Game string `placeholder:"NAME" help:"The game of the keys (default: the server's own keys, which sign admin tokens)."`
}

func (k keyOwnerFlag) path(suffix string) string { return gamePath(k.Game, "/keys"+suffix) }

type keysList struct{ keyOwnerFlag }

func (k *keysList) Run(ctx context.Context, admin *adminClient) error {
	return keyTable.printList(ctx, admin, k.path(""), "keys", url.Values{}, 0)
}

var keyTable = table[identity.KeyInfo]{"ID\tALG\tSIGNS\tSINCE", func(key identity.KeyInfo) []any {
	return []any{key.ID, key.Alg, key.Signs, formatTime(key.CreatedAt)}
}}

type keysRotate struct{ keyOwnerFlag }

func (k *keysRotate) Run(ctx context.Context, admin *adminClient) error {
	var created identity.KeyInfo
	if err := admin.call(ctx, http.MethodPost, k.path("/rotate"), nil, &created); err != nil {
		return err
	}
	return admin.printf("%s signs in %v\n", created.ID, identity.SigningDelay)
}

type keysRetire struct {
	keyOwnerFlag
	ID string `arg:"" help:"The id of the key."`
}

func (k *keysRetire) Run(ctx context.Context, admin *adminClient) error {
	return admin.callAndPrint(ctx, http.MethodDelete, k.path("/"+url.PathEscape(k.ID)), k.ID+" is retired")
}

type tokenCmd struct {
	Game string        `placeholder:"NAME" help:"The game (default: none, for role admin)."`
	Role string        `required:"" enum:"player,host,service,admin" placeholder:"ROLE" help:"The role: player, host, service or admin."`
	Sub  string        `required:"" placeholder:"ID" help:"The subject: the id of a player or client."`
	PI   string        `name:"pi" placeholder:"ID" help:"The id of a verified player at the NPPA."`
	TTL  time.Duration `default:"24h" help:"The lifetime of the token (default 24h)."`
}

// Run prints a token that is signed with the key of the game, or with the server's own key for
// role admin.
func (t *tokenCmd) Run(ctx context.Context, flags *Flags, output Output) error {
	return flags.withLedger(func(c *config.Config, l *ledger.Ledger) error {
		var games []string
		if t.Game != "" {
			if err := c.CheckGame(t.Game); err != nil {
				return err
			}
			games = []string{t.Game}
		}
		tokens, err := c.OpenTokens(ctx, l.TokenKeys, games, nil)
		if err != nil {
			return err
		}
		token, _, err := tokens.Mint(identity.Claims{Subject: t.Sub, Game: t.Game, Role: identity.Role(t.Role), PI: t.PI}, t.TTL)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(output.Stdout, token)
		return err
	})
}

// printGeneratedKeys prints the generated keys of a receiver, one per line. It fails if the keys
// are in a file.
func printGeneratedKeys(ctx context.Context, source config.KeySource, l *ledger.Ledger, output Output) error {
	if source.File != "" {
		return fmt.Errorf("%s: the server reads the keys from %s and generates no key", source.Setting, source.File)
	}
	keys, err := source.Load(ctx, l.TokenKeys)
	for _, key := range keys {
		fmt.Fprintln(output.Stdout, key)
	}
	return err
}
