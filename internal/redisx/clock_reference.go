package redisx

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// clockKey is the key of the record. The master that owns this key is the reference.
const clockKey = "clock"

// readTimeout is the timeout of a reading. A slower one is too uncertain.
const readTimeout = time.Second

// scriptHeader is the first line of the scripts. It does not declare them as read-only. So
// a replica answers READONLY instead of its own time, even if its client believes that it
// is the master.
const scriptHeader = "#!lua flags=allow-oom\n"

// reference reads the clock of the reference, in ns since the epoch.
type reference func(ctx context.Context) (int64, error)

// recordStore replaces the record and returns the former one. own is the cluster time of
// the caller in ns; with 0 it only reads the record. refTime is the time of the reference at
// that moment in ns.
type recordStore func(ctx context.Context, own, refTime int64) (previous record, err error)

//go:embed clock.lua
var clockLua string

//go:embed clock_record.lua
var recordLua string

// newMasterReference returns a reference that runs TIME in a script with a key. The command
// TIME itself has no key, so every server answers it, even a former master after a
// failover. The client would then not learn of the new master.
func newMasterReference(client redis.UniversalClient) reference {
	script := redis.NewScript(scriptHeader + clockLua)
	return func(ctx context.Context) (int64, error) {
		reply, err := script.Run(ctx, client, []string{clockKey}).StringSlice()
		if err != nil {
			return 0, err
		}
		return parseTime(reply)
	}
}

// newMasterRecordStore returns a recordStore that stores the record in clockKey.
func newMasterRecordStore(client redis.UniversalClient) recordStore {
	script := redis.NewScript(scriptHeader + recordLua)
	return func(ctx context.Context, own, refTime int64) (previous record, err error) {
		reply, err := script.Run(ctx, client, []string{clockKey}, own/1000, refTime/1000, recordTTL.Milliseconds()).StringSlice()
		if err == nil && len(reply) == 2 && reply[0] != "" {
			previous = record{clusterTime: microsToNanos(reply[0]), refTime: microsToNanos(reply[1])}
		}
		return previous, err
	}
}

// microsToNanos converts a text with µs to ns. The script has checked that the text has only
// digits.
func microsToNanos(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n * 1000
}

// parseTime converts a reply of TIME to ns since the epoch.
func parseTime(reply []string) (int64, error) {
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
