package redisstore

import (
	"embed"
	"fmt"

	"github.com/redis/go-redis/v9"

	"laststand/internal/redisx"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	enterTicketScript     = newScript("enter_ticket")
	removeTicketScript    = newScript("remove_ticket")
	pairTicketsScript     = newScript("pair_tickets")
	completePairingScript = newScript("complete_pairing")
	rollBackPairingScript = newScript("roll_back_pairing")
	occupyPlayerScript    = newScript("occupy_player")
	freePlayersScript     = newScript("free_players")
	readActivityScript    = newScript("read_activity")

	takeTokensScript    = newScript("take_tokens")
	assignSessionScript = newScript("assign_session")
)

// wrap names the operation that has failed. It returns nil if err is nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redisstore: %s: %w", operation, err)
}

// newScript returns a script that consists of several files, one after the other.
func newScript(names ...string) *redis.Script {
	return redis.NewScript(redisx.JoinScript(luaFiles, names...))
}
