package bench

import (
	"context"
	"crypto/rand"
	"fmt"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/client"
)

// connectPlayer connects the player with a number.
func connectPlayer(ctx context.Context, d client.Dialer, url string, number int) (*client.Player, error) {
	guest, err := newGuest(number)
	if err != nil {
		return nil, err
	}
	return d.Connect(ctx, url, guest, nil)
}

// newGuest returns the player with a number. The node registers the player at the first
// connection.
func newGuest(number int) (client.Guest, error) {
	id := fmt.Sprintf("player_%d", number)
	token, err := testenv.Token("player", id)
	return client.Guest{ID: id, Token: token}, err
}

// makeArena makes an arena, and connects its host.
func makeArena(ctx context.Context, url string, a protocol.NewArena) (host *client.Player, made protocol.ArenaMade, err error) {
	id := "host_" + rand.Text()
	token, err := testenv.Token("host", id)
	if err != nil {
		return nil, made, err
	}
	if made, err = client.CreateArena(ctx, url, "demo", token, a); err != nil {
		return nil, made, err
	}
	if host, err = client.Connect(ctx, url, client.Guest{ID: id, Token: token}, nil); err != nil {
		return nil, made, err
	}
	return host, made, host.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: "host"})
}
