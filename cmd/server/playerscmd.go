package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

type playersCmd struct {
	Erase       playersErase `cmd:"" help:"Erase a player."`
	ResetDevice resetDevice  `cmd:"" help:"Give a guest a new device secret."`
	Untie       playersUntie `cmd:"" help:"Untie a guest from its account."`
}

// Help implements kong's help provider.
func (*playersCmd) Help() string {
	return "Speaks to the running server, at its --ops-listen.\n\nExample: server players erase --game demo --player p_42"
}

type playersErase struct {
	ofGame
	Player   string `placeholder:"ID" help:"The player's id, as boards show it."`
	Nickname string `placeholder:"NAME" help:"The player's nickname, exactly as boards show it."`
}

// Help implements kong's help provider.
func (*playersErase) Help() string {
	return "Erases name, device and profile for good. Results stay without a name, under an opaque id.\n\n" +
		"Example: server players erase --game demo --player p_42\n" +
		"         server players erase --game demo --nickname Ada"
}

// Validate implements kong's validation.
func (p *playersErase) Validate() error {
	if (p.Player == "") == (p.Nickname == "") {
		return fmt.Errorf("name either --player or --nickname")
	}
	return nil
}

// Run erases a player.
func (p *playersErase) Run(flags *cli, to console) error {
	id, called := p.Player, p.Player
	if id == "" {
		var err error
		if id, err = p.find(flags); err != nil {
			return err
		}
		called = fmt.Sprintf("%s, called %s,", id, p.Nickname)
	}
	return remove(flags, to, p.path("/players/"+url.PathEscape(id)), called+" is erased")
}

// find gives the id of the player of a nickname. Who is called by another that
// only looks like it is not erased for it.
func (p *playersErase) find(flags *cli) (id string, err error) {
	err = withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var found struct {
			PlayerID string `json:"player_id"`
			Nickname string
		}
		query := url.Values{"nickname": {p.Nickname}}
		if err := a.call(ctx, http.MethodGet, p.path("/players?"+query.Encode()), nil, &found); err != nil {
			return err
		}
		if found.Nickname != p.Nickname {
			return fmt.Errorf("nobody is called exactly %q; %q is %s: erase that by --player if it is who you mean", p.Nickname, found.Nickname, found.PlayerID)
		}
		id = found.PlayerID
		return nil
	})
	return id, err
}
