package timer

import (
	"context"
	"log/slog"
	"time"
)

// Every calls work once per interval until ctx ends, the first time after one interval.
// Calls do not overlap: if one takes longer than the interval, Every leaves out calls.
// To call work at once, call it before Every.
func Every(ctx context.Context, interval time.Duration, work func(context.Context)) {
	EveryOrWoken(ctx, interval, nil, work)
}

// EveryOrWoken is like Every, and also calls work when wake has a value.
func EveryOrWoken(ctx context.Context, interval time.Duration, wake <-chan struct{}, work func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-ticker.C:
		}
		if ctx.Err() != nil { // a select with several ready cases chooses at random
			return
		}
		work(ctx)
	}
}

// LogFailures returns a function for Every that calls work. It logs the first error of a
// series, and the recovery, but no error after the end of the context. The operation
// starts the log message. Example: "question bank reload".
func LogFailures(logger *slog.Logger, operation string, work func(context.Context) error) func(context.Context) {
	isFailing := false
	return func(ctx context.Context) {
		err := work(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !isFailing:
			logger.WarnContext(ctx, operation+" failed; the server retries it", "error", err)
		case err == nil && isFailing:
			logger.InfoContext(ctx, operation+" recovered")
		}
		isFailing = err != nil
	}
}

// processStart is the time 0 of SinceStart.
var processStart = time.Now()

// SinceStart returns the time since the process started, by a clock that never jumps. A time of
// this kind takes a third of the memory of a time.Time.
func SinceStart() time.Duration { return time.Since(processStart) }

// Sleep waits until the duration is over and returns true. If ctx ends first, it returns
// false.
func Sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Wake sends a value to a channel with a buffer for one, such as the one of EveryOrWoken.
// It does nothing if the channel has a value already. It never blocks.
func Wake(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
