package redismatch

import (
	"embed"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lua"
)

//go:embed *.lua
var sources embed.FS

var (
	createScript  = script("create")
	voidScript    = script("void")
	readScript    = script("read")
	recordScript  = script("record")
	stepScript    = script("compare", "over", "step")
	hostScript    = script("host")
	orphanScript  = script("orphan")
	settledScript = script("settled")
	toldScript    = script("told")

	duelScript     = script("verdict", "duel", "accept")
	survivalScript = script("verdict", "survival", "accept")
	wrongScript    = script("verdict", "wrong", "accept")

	sitScript   = script("sit")
	watchScript = script("watch")
	unsitScript = script("unsit", "left", "withdraw")
	lockScript  = script("lock")
)

func script(pieces ...string) *redis.Script { return redis.NewScript(lua.Join(sources, pieces...)) }
