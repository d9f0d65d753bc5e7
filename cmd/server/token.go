package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
)

type tokenCmd struct {
	Game string        `placeholder:"NAME" help:"The game; none for the role admin."`
	Role string        `required:"" enum:"player,host,service,admin" placeholder:"ROLE" help:"player, host, service or admin."`
	Sub  string        `required:"" placeholder:"ID" help:"Whom it speaks for: a player's or a client's id."`
	TTL  time.Duration `default:"24h" help:"How long it lasts."`
}

// Help implements kong's help provider.
func (*tokenCmd) Help() string {
	return "Prints the token alone on a line; works beside a running server.\n\n" +
		"Example: server token --game demo --role player --sub p_42 --ttl 1h"
}

// Run prints a token signed with the key of the game, or the server's own.
func (t *tokenCmd) Run(flags *cli, to console) error {
	return withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		tokens, err := openTokens(ctx, c, l)
		if err != nil {
			return err
		}
		token, _, err := tokens.Mint(identity.Claims{Subject: t.Sub, Game: t.Game, Role: identity.Role(t.Role)}, t.TTL)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(to.out, token)
		return err
	})
}

// openTokens opens the keys of all games: the configured ones from their
// files, the others from the ledger.
func openTokens(ctx context.Context, c *config, l *ledger.Ledger) (*identity.Tokens, error) {
	configured := make(map[string][]identity.Key)
	var faults faults
	for _, name := range c.gameNames() {
		for _, k := range c.Games[name].Keys {
			key, err := c.readKey(k)
			if err != nil {
				faults.addf("games.%s.keys: %w", name, err)
				continue
			}
			configured[name] = append(configured[name], key)
		}
	}
	if err := faults.join(); err != nil {
		return nil, err
	}
	return identity.OpenTokens(ctx, identity.TokensConfig{
		Games: c.gameNames(), Configured: configured, Keys: l, Now: wallClock,
	})
}

func (c *config) readKey(k gameKey) (identity.Key, error) {
	file, err := os.ReadFile(c.beside(k.SecretFile))
	if err != nil {
		return identity.Key{}, fmt.Errorf("key %q: its file cannot be read: %w", k.ID, err)
	}
	return identity.ReadKey(k.ID, k.Alg, file)
}

// wallClock is what tokens live by: epoch ms.
func wallClock() int64 { return time.Now().UnixMilli() }
