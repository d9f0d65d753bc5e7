package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

type playersCmd struct {
	Erase         playersErase         `cmd:"" help:"Erase a player."`
	ResetDevice   playersResetDevice   `cmd:"" help:"Reset the device secret of a guest."`
	UnlinkAccount playersUnlinkAccount `cmd:"" help:"Unlink a guest from its account."`
}

// Help implements kong's help provider.
func (*playersCmd) Help() string {
	return opsHelp + "\n\nExample: server players erase --game demo --player p_42"
}

type playersErase struct {
	gameFlag
	Player   string `placeholder:"ID" help:"The id of the player, as leaderboards show it."`
	Nickname string `placeholder:"NAME" help:"The nickname of the player, exactly as leaderboards show it."`
}

// Help implements kong's help provider.
func (*playersErase) Help() string {
	return "The server deletes the nickname, the device and the profile for good. Results stay under an opaque id.\n\n" +
		"Example: server players erase --game demo --player p_42\n" +
		"         server players erase --game demo --nickname Ada"
}

// Validate implements kong's validation.
func (p *playersErase) Validate() error {
	if (p.Player == "") == (p.Nickname == "") {
		return fmt.Errorf("give either --player or --nickname")
	}
	return nil
}

// Run erases a player.
func (p *playersErase) Run(flags *cli, output commandOutput) error {
	id, description := p.Player, p.Player
	if id == "" {
		var err error
		if id, err = p.findByNickname(flags); err != nil {
			return err
		}
		description = fmt.Sprintf("%s, called %s,", id, p.Nickname)
	}
	return deleteResource(flags, output, p.path("/players/"+url.PathEscape(id)), description+" is erased")
}

// findByNickname returns the id of the player with exactly this nickname. The server also finds
// a nickname that only looks the same; findByNickname returns an error for it.
func (p *playersErase) findByNickname(flags *cli) (id string, err error) {
	err = withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var found struct {
			PlayerID string `json:"player_id"`
			Nickname string
		}
		query := url.Values{"nickname": {p.Nickname}}
		if err := admin.call(ctx, http.MethodGet, p.path("/players?"+query.Encode()), nil, &found); err != nil {
			return err
		}
		if found.Nickname != p.Nickname {
			return fmt.Errorf("no player has the nickname %q; %q belongs to %s: use --player if you mean this one", p.Nickname, found.Nickname, found.PlayerID)
		}
		id = found.PlayerID
		return nil
	})
	return id, err
}
