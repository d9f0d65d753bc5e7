package redismatch

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed create.lua
	createSource string
	//go:embed commit.lua
	commitSource string
	//go:embed step.lua
	stepSource string
	//go:embed read.lua
	readSource string
	//go:embed settled.lua
	settledSource string

	createScript  = redis.NewScript(createSource)
	commitScript  = redis.NewScript(commitSource)
	stepScript    = redis.NewScript(stepSource)
	readScript    = redis.NewScript(readSource)
	settledScript = redis.NewScript(settledSource)
)
