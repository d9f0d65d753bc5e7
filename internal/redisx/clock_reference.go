package redisx

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// clockKey names the reference: the master that owns it. Nothing is stored there.
const clockKey = "clock"

// mayWrite heads the script. Since it does not say that nothing is written, a
// replica answers READONLY and not its own time, though its client may still
// take it for the master.
const mayWrite = "#!lua flags=allow-oom\n"

// reference tells its time in ns since the epoch.
type reference func(ctx context.Context) (int64, error)

//go:embed clock.lua
var clockLua string

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
