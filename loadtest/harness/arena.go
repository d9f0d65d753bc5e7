package harness

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// MakeArena makes an arena, connects its host and joins the arena as the host.
func MakeArena(ctx context.Context, url string, a protocol.NewArena) (host *player.Player, made protocol.ArenaMade, err error) {
	id := "host_" + rand.Text()
	token, err := Token("host", id)
	if err != nil {
		return nil, made, err
	}
	if made, err = player.NewArena(ctx, url, "demo", token, a); err != nil {
		return nil, made, err
	}
	host, err = player.Connect(ctx, url, player.Guest{ID: id, Token: token}, nil)
	if err != nil {
		return nil, made, err
	}
	return host, made, Ask(host, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: "host"})
}

// Ask sends a request and waits for its reply, which must not be an error.
func Ask(p *player.Player, kind string, data any) error {
	id, err := p.Send(kind, data)
	if err != nil {
		return err
	}
	for {
		f, err := p.Read(30 * time.Second)
		if err != nil {
			return err
		}
		if f.Re == nil || *f.Re != id {
			continue
		}
		if f.Type == protocol.TypeError {
			return fmt.Errorf("%s was answered with %s", kind, f.Raw)
		}
		return nil
	}
}
