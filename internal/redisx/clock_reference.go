package redisx

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// clockKey is the key that selects the reference, the master that owns it. It holds the
// record.
const clockKey = "clock"

// scriptHeader is the first line of the scripts. It does not declare them as read-only,
// so a replica answers READONLY instead of its own time, even if its client takes it for
// the master.
const scriptHeader = "#!lua flags=allow-oom\n"

// reference returns its time in ns since the epoch.
type reference func(ctx context.Context) (int64, error)

// recordStore replaces the record by own, the caller's cluster time (0: none yet), with
// the time of the reference. It returns the former record.
type recordStore func(ctx context.Context, mine, at int64) (last record, err error)

//go:embed clock.lua
var clockLua string

//go:embed clock_record.lua
var recordLua string

// newMasterReference asks the master by a script. TIME alone names no key, so every
// server answers it, also a demoted or isolated one. The client would not learn of the
// new master then.
func newMasterReference(client redis.UniversalClient) reference {
	script := redis.NewScript(scriptHeader + clockLua)
	return func(ctx context.Context) (int64, error) {
		reply, err := script.Run(ctx, client, []string{clockKey}).StringSlice()
		if err != nil {
			return 0, err
		}
		return nanoseconds(reply)
	}
}

// newMasterRecordStore stores the record in the key.
func newMasterRecordStore(client redis.UniversalClient) recordStore {
	script := redis.NewScript(scriptHeader + recordLua)
	return func(ctx context.Context, own, refTime int64) (previous record, err error) {
		reply, err := script.Run(ctx, client, []string{clockKey}, own/1000, refTime/1000, recordTTL.Milliseconds()).StringSlice()
		if err == nil && len(reply) == 2 && reply[0] != "" {
			previous = record{clusterTime: micros(reply[0]), refTime: micros(reply[1])}
		}
		return previous, err
	}
}

// micros converts µs, which the script has checked to be digits, to ns.
func micros(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n * 1000
}

// nanoseconds converts a reply of TIME.
func nanoseconds(reply []string) (int64, error) {
	if len(reply) != 2 {
		return 0, fmt.Errorf("redis returned the time %q; want seconds and microseconds", reply)
	}
	seconds, err := strconv.ParseInt(reply[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("seconds of redis's time: %w", err)
	}
	micros, err := strconv.ParseInt(reply[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("microseconds of redis's time: %w", err)
	}
	return time.Unix(seconds, micros*1000).UnixNano(), nil
}
