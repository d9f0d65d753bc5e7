package redisx

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// clockKey names the reference, the master that owns it, and keeps the record.
const clockKey = "clock"

// mayWrite heads the script. Since it does not say that nothing is written, a
// replica answers READONLY and not its own time, though its client may still
// take it for the master.
const mayWrite = "#!lua flags=allow-oom\n"

// reference tells its time in ns since the epoch.
type reference func(ctx context.Context) (int64, error)

// keeper gives the record as it was. It keeps mine, the caller's cluster time (0:
// it has none yet), as the next one, with the time of the reference then.
type keeper func(ctx context.Context, mine, at int64) (last record, err error)

//go:embed clock.lua
var clockLua string

//go:embed clock_record.lua
var recordLua string

// masterTime asks by a script, since TIME alone names no key and every server
// answers it: one that was demoted or cut off too, and the client would not
// learn of its successor.
func masterTime(client redis.UniversalClient) reference {
	script := redis.NewScript(mayWrite + clockLua)
	return func(ctx context.Context) (int64, error) {
		told, err := script.Run(ctx, client, []string{clockKey}).StringSlice()
		if err != nil {
			return 0, err
		}
		return nanoseconds(told)
	}
}

// masterRecord keeps the record in the key.
func masterRecord(client redis.UniversalClient) keeper {
	script := redis.NewScript(mayWrite + recordLua)
	return func(ctx context.Context, mine, at int64) (last record, err error) {
		kept, err := script.Run(ctx, client, []string{clockKey}, mine/1000, at/1000, recordTTL.Milliseconds()).StringSlice()
		if err == nil && len(kept) == 2 && kept[0] != "" {
			last = record{told: micros(kept[0]), at: micros(kept[1])}
		}
		return last, err
	}
}

// micros reads µs, digits that the script has matched, as ns.
func micros(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n * 1000
}

// nanoseconds reads a reply of TIME.
func nanoseconds(told []string) (int64, error) {
	if len(told) != 2 {
		return 0, fmt.Errorf("redis told its time as %q, want seconds and microseconds", told)
	}
	seconds, err := strconv.ParseInt(told[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("seconds of redis's time: %w", err)
	}
	micros, err := strconv.ParseInt(told[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("microseconds of redis's time: %w", err)
	}
	return time.Unix(seconds, micros*1000).UnixNano(), nil
}
