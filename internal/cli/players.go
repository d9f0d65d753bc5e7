package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"laststand/internal/ops"
)

type playersCmd struct {
	Erase         playersErase         `cmd:"" help:"Erase a player."`
	ResetDevice   playersResetDevice   `cmd:"" help:"Reset the device secret of a guest."`
	UnlinkAccount playersUnlinkAccount `cmd:"" help:"Unlink a guest from its account."`
}

type playersErase struct {
	gameFlag
	Player   string `placeholder:"ID" help:"The id of the player, as leaderboards show it."`
	Nickname string `placeholder:"NAME" help:"The nickname of the player, exactly as leaderboards show it."`
}

func (p *playersErase) Validate() error {
	if (p.Player == "") == (p.Nickname == "") {
		return fmt.Errorf("give either --player or --nickname")
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
	return admin.callAndPrint(ctx, http.MethodDelete, p.path("/players/"+url.PathEscape(id)), description+" is erased")
}

// findByNickname returns the id of the player with exactly this nickname. The server also finds
// a nickname that only looks the same; findByNickname returns an error for it.
func (p *playersErase) findByNickname(ctx context.Context, admin *adminClient) (id string, err error) {
	var found ops.Player
	query := url.Values{"nickname": {p.Nickname}}
	if err := admin.call(ctx, http.MethodGet, p.path("/players?"+query.Encode()), nil, &found); err != nil {
		return "", err
	}
	if found.Nickname != p.Nickname {
		return "", fmt.Errorf("no player has the nickname %q; %q belongs to %s: use --player if you mean this one", p.Nickname, found.Nickname, found.PlayerID)
	}
	return found.PlayerID, nil
}

// playerFlags are the flags of commands that act on one player of a game.
type playerFlags struct {
	gameFlag
	Player string `required:"" placeholder:"ID" help:"The id of the guest, or of its account."`
}

func (p playerFlags) path(suffix string) string {
	return p.gameFlag.path("/players/" + url.PathEscape(p.Player) + suffix)
}

type playersResetDevice struct{ playerFlags }

func (d *playersResetDevice) Run(ctx context.Context, admin *adminClient) error {
	var created ops.NewDevice
	if err := admin.call(ctx, http.MethodPost, d.path("/device"), nil, &created); err != nil {
		return err
	}
	return admin.printf("%s\n", created.Device)
}

type playersUnlinkAccount struct{ playerFlags }

func (u *playersUnlinkAccount) Run(ctx context.Context, admin *adminClient) error {
	var unlinked ops.UnlinkedAccount
	if err := admin.call(ctx, http.MethodDelete, u.path("/account"), nil, &unlinked); err != nil {
		return err
	}
	return admin.printf("%s is unlinked\n", unlinked.Account)
}
