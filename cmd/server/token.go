package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/ledger"
)

type tokenCmd struct {
	Game string        `placeholder:"NAME" help:"The game (default: none, for role admin)."`
	Role string        `required:"" enum:"player,host,service,admin" placeholder:"ROLE" help:"The role: player, host, service or admin."`
	Sub  string        `required:"" placeholder:"ID" help:"The subject: the id of a player or client."`
	PI   string        `name:"pi" placeholder:"ID" help:"The id of a verified player at the NPPA."`
	TTL  time.Duration `default:"24h" help:"The lifetime of the token (default 24h)."`
}

// Help implements kong's help provider.
func (*tokenCmd) Help() string {
	return "The command reads the database, also beside a running server.\n\n" +
		"Example: server token --game demo --role player --sub p_42 --ttl 1h"
}

// Run prints a token that is signed with the key of the game, or with the server's own key for
// role admin.
func (t *tokenCmd) Run(flags *cli, output commandOutput) error {
	return withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		var games []string
		if t.Game != "" {
			if err := c.checkGame(t.Game); err != nil {
				return err
			}
			games = []string{t.Game}
		}
		tokens, err := openTokens(ctx, c, l, games, nil)
		if err != nil {
			return err
		}
		token, _, err := tokens.Mint(identity.Claims{Subject: t.Sub, Game: t.Game, Role: identity.Role(t.Role), PI: t.PI}, t.TTL)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(output.stdout, token)
		return err
	})
}

// openTokens reads the server's own key and the keys of some games. It reads configured keys from
// their files and generated keys from the ledger. r may be nil; then there are no metrics.
func openTokens(ctx context.Context, c *config, l *ledger.Ledger, games []string, r prometheus.Registerer) (*identity.Tokens, error) {
	configured := make(map[string][]identity.Key)
	for _, name := range games {
		keys, err := c.readKeys(name)
		if err != nil {
			return nil, fmt.Errorf("games.%s.keys: %w", name, err)
		}
		configured[name] = keys
	}
	return identity.OpenTokens(ctx, identity.TokensConfig{
		Games: games, Configured: configured, Keys: l.TokenKeys, Now: wallClock, Rules: c.tokenRules(), Registry: r,
	})
}

// wallClock returns the time of the machine in epoch ms. The lifetime of tokens is checked
// against it.
func wallClock() int64 { return time.Now().UnixMilli() }
