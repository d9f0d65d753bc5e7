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

// reference tells its time in ns since the epoch, and the record as it was. It
// keeps mine, the caller's cluster time (0: it has none yet), as the next record.
type reference func(ctx context.Context, mine int64) (now int64, last record, err error)

//go:embed clock.lua
var clockLua string

// masterTime asks by a script, since TIME alone names no key and every server
// answers it: one that was demoted or cut off too, and the client would not
// learn of its successor.
func masterTime(client redis.UniversalClient) reference {
	script := redis.NewScript(mayWrite + clockLua)
	return func(ctx context.Context, mine int64) (now int64, last record, err error) {
		told, err := script.Run(ctx, client, []string{clockKey}, mine/1000, recordTTL.Milliseconds()).StringSlice()
		if err != nil {
			return 0, last, err
		}
		if len(told) == 4 && told[2] != "" {
			last.told, last.at = micros(told[2]), micros(told[3])
		}
		now, err = nanoseconds(told[:min(len(told), 2)])
		return now, last, err
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
