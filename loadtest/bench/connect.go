package bench

import (
	"context"
	"crypto/rand"
	"fmt"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

func connectPlayer(ctx context.Context, d players.Dialer, url string, number int) (*players.Player, error) {
	guest, err := newGuest(number)
	if err != nil {
		return nil, err
	}
	return d.Connect(ctx, url, guest, nil)
}

// newGuest returns the player with a number. The node registers the player at the first
// connection.
func newGuest(number int) (players.Guest, error) {
	id := fmt.Sprintf("player_%d", number)
	token, err := testenv.Token("player", id)
	return players.Guest{ID: id, Token: token}, err
}

func makeArena(ctx context.Context, url string, a protocol.NewArena) (host *players.Player, made protocol.ArenaMade, err error) {
	id := "host_" + rand.Text()
	token, err := testenv.Token("host", id)
	if err != nil {
		return nil, made, err
	}
	if made, err = players.CreateArena(ctx, url, "demo", token, a); err != nil {
		return nil, made, err
	}
	if host, err = players.Connect(ctx, url, players.Guest{ID: id, Token: token}, nil); err != nil {
		return nil, made, err
	}
	return host, made, host.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: "host"})
}
