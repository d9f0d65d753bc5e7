package redismatch

import (
	"embed"

	"github.com/redis/go-redis/v9"
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

// script makes one of pieces that run one after the other, with the same KEYS
// and ARGV; a later piece sees the locals of those before it.
func script(pieces ...string) *redis.Script {
	var source []byte
	for _, name := range pieces {
		piece, err := sources.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is embedded
		}
		source = append(source, piece...)
	}
	return redis.NewScript(string(source))
}
