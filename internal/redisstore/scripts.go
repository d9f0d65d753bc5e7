package redisstore

import (
	"embed"

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

func newScript(name string) *redis.Script { return redis.NewScript(redisx.JoinScript(luaFiles, name)) }
