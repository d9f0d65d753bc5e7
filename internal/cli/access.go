package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"laststand/internal/config"
	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/ops"
)

type auditCmd struct {
	List struct {
		Game  string `placeholder:"NAME" query:"game" help:"List only entries of this game."`
		Actor string `placeholder:"ID" query:"actor" help:"List only entries of this actor: the --sub of the token, or \"command\" for these commands."`
		Limit int    `default:"50" placeholder:"N" help:"List at most N entries (default 50)."`
	} `cmd:"" help:"List what operators changed or read, newest first."`
}

type bansCmd struct {
	Add struct {
		banFlags
		Reason string        `required:"" placeholder:"TEXT" body:"reason" help:"The reason; the player sees it."`
		For    time.Duration `placeholder:"TIME" body:"expires_at" help:"How long the ban lasts, such as 72h (default: forever)."`
	} `cmd:"" help:"Ban a player from a game."`
	Remove struct{ banFlags } `cmd:"" help:"Remove the ban of a player."`
	List   struct{ gameFlag } `cmd:"" help:"List the bans of a game, newest first."`
}

type banFlags struct {
	gameFlag
	Player string `required:"" placeholder:"ID" help:"The id of the player, or of an account of your login service."`
}

type keysCmd struct {
	List   struct{ keyOwnerFlag } `cmd:"" help:"List signing keys, without their secrets."`
	Rotate struct{ keyOwnerFlag } `cmd:"" help:"Rotate the signing key: create a key that signs after 10 s."`
	Retire struct {
		keyOwnerFlag
		ID string `arg:"" help:"The id of the key."`
	} `cmd:"" help:"Retire a key, so that the server refuses its tokens."`
}

// keyOwnerFlag is the flag that selects the owner of keys: a game, or without it the server.
type keyOwnerFlag struct {
	Game string `placeholder:"NAME" help:"The game of the keys (default: the server's own keys, which sign admin tokens)."`
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

type tokensCmd struct {
	Revoke struct {
		revocationFlags
		Before time.Time     `placeholder:"TIME" body:"issued_before" help:"With --subject: revoke only tokens issued before this time in RFC 3339 (default: 30 s from now, because clocks differ)."`
		Reason string        `required:"" placeholder:"TEXT" body:"reason" help:"The reason; the server stores it."`
		For    time.Duration `placeholder:"TIME" body:"expires_at" help:"How long the revocation lasts; the lifetime of the tokens is enough (default: forever)."`
	} `cmd:"" help:"Revoke a token, or all tokens of a subject."`
	Restore     struct{ revocationFlags } `cmd:"" help:"Remove a revocation."`
	ListRevoked struct {
		tokenOwnerFlags
		Kind string `enum:"token,subject,erased,linked,unlinked,all" default:"all" placeholder:"all" query:"kind" help:"List only one kind: token, subject, erased, linked or unlinked (default: all)."`
	} `cmd:"" help:"List revocations, newest first."`
}

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
	TokenID string `name:"token-id" placeholder:"JTI" target:"token" help:"The jti of one token."`
	Subject string `placeholder:"ID" target:"subject" help:"The sub of the tokens."`
}

func (r revocationFlags) Validate() error {
	if (r.TokenID == "") == (r.Subject == "") {
		return errors.New("give either --token-id or --subject")
	}
	return r.tokenOwnerFlags.Validate()
}

type playersCmd struct {
	Erase         playersErase          `cmd:"" help:"Erase a player."`
	ResetDevice   struct{ playerFlags } `cmd:"" help:"Reset the device secret of a guest."`
	UnlinkAccount struct{ playerFlags } `cmd:"" help:"Unlink a guest from its account."`
}

type playerFlags struct {
	gameFlag
	Player string `required:"" placeholder:"ID" help:"The id of the guest, or of its account."`
}

type playersErase struct {
	gameFlag
	Player   string `placeholder:"ID" help:"The id of the player, as leaderboards show it."`
	Nickname string `placeholder:"NAME" help:"The nickname of the player, exactly as leaderboards show it."`
}

func (p *playersErase) Validate() error {
	if (p.Player == "") == (p.Nickname == "") {
		return errors.New("give either --player or --nickname")
	}
	return nil
}

func (p *playersErase) Run(ctx context.Context, admin *adminClient) error {
	id, description := p.Player, p.Player
	if id == "" {
		var err error
		if id, err = p.findByNickname(ctx, admin); err != nil {
			return err
		}
		description = fmt.Sprintf("%s, called %s,", id, p.Nickname)
	}
	if _, err := call[struct{}](ctx, admin, http.MethodDelete, p.path("/players/"+url.PathEscape(id)), nil); err != nil {
		return err
	}
	return admin.printf("%s is erased\n", description)
}

// findByNickname returns the id of the player with exactly this nickname. The server also finds
// a nickname that only looks the same; findByNickname returns an error for it.
func (p *playersErase) findByNickname(ctx context.Context, admin *adminClient) (id string, err error) {
	query := url.Values{"nickname": {p.Nickname}}
	found, err := call[ops.Player](ctx, admin, http.MethodGet, p.path("/players?"+query.Encode()), nil)
	if err == nil && found.Nickname != p.Nickname {
		err = fmt.Errorf("no player has the nickname %q; %q belongs to %s: use --player if you mean this one", p.Nickname, found.Nickname, found.PlayerID)
	}
	return found.PlayerID, err
}
