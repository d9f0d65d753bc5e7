package redisx

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// clockKey is the key of the record. The master that owns this key is the reference.
const clockKey = "clock"

// readTimeout is the timeout of a reading. A slower one is too uncertain.
const readTimeout = time.Second

// recordTTL is how long Redis keeps the record after the last write of any node.
const recordTTL = time.Minute

// scriptHeader is the first line of the script. It does not declare it as read-only. So a
// replica answers READONLY instead of its own time, even if its client believes that it is
// the master.
const scriptHeader = "#!lua flags=allow-oom\n"

// reference reads the time of the reference, in ns since the epoch. It also publishes the
// cluster time of the caller, unless that is 0, and returns the former record.
type reference func(ctx context.Context, own int64) (refTime int64, previous record, err error)

//go:embed clock.lua
var clockLua string

// newMasterReference returns a reference that runs TIME in a script with a key. The command
// TIME itself has no key, so every server answers it, even a former master after a
// failover. The client would then not learn of the new master.
func newMasterReference(client redis.UniversalClient) reference {
	script := redis.NewScript(scriptHeader + clockLua)
	return func(ctx context.Context, own int64) (refTime int64, previous record, err error) {
		micros, err := script.Run(ctx, client, []string{clockKey}, own/1000, recordTTL.Milliseconds()).Int64Slice()
		if err == nil && len(micros) != 3 {
			err = fmt.Errorf("redis returned the time %v; want three numbers", micros)
		}
		if err != nil {
			return 0, record{}, err
		}
		return micros[0] * 1000, record{clusterTime: micros[1] * 1000, refTime: micros[2] * 1000}, nil
	}
}
