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

const (
	recordTTL = time.Minute // how long Redis keeps the record after the last write of any node
	// maxRecordAge is the age up to which a record counts as written by a living node.
	maxRecordAge = 5 * time.Second
	// recordWait is how long a new node waits for a living node to replace an old
	// record. It is longer than the pause between two readings.
	recordWait = 1500 * time.Millisecond
	// futureRecordWait is recordWait for a record from the reference's future. The
	// reference has stepped back since a node wrote the record, less than recordTTL ago.
	// That node is probably alive, and its age cannot be told from the record.
	futureRecordWait = 4 * time.Second
)

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

// record is the newest published cluster time and the time of the reference at that
// moment, both in ns since the epoch. The zero value means that there is no record.
type record struct{ clusterTime, refTime int64 }

// isFresh reports whether the record is so new at refTime, a time of the reference, that
// the node that wrote it is still alive.
func (r record) isFresh(refTime int64) bool {
	return r.refTime > 0 && refTime >= r.refTime && refTime-r.refTime <= int64(maxRecordAge)
}

// waitForUpdate returns how long a new node waits for a living node to replace the
// record; 0: the record is usable, or there is none.
func (r record) waitForUpdate(refTime int64) time.Duration {
	switch {
	case r.refTime == 0 || r.isFresh(refTime):
		return 0
	case r.refTime > refTime:
		return futureRecordWait
	}
	return recordWait
}

// clusterTimeAt returns the cluster time of the running nodes at refTime, a time of the
// reference.
func (r record) clusterTimeAt(refTime int64) int64 {
	elapsed := max(refTime-r.refTime, 0)
	if r.clusterTime > r.refTime { // cluster time is ahead, so it runs slower
		elapsed -= elapsed / slewDivisor
	}
	return r.clusterTime + elapsed
}
