package timer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

// callTimes runs a loop for 10 s, and returns at which second each call of work started.
// Each call takes the given time.
func callTimes(t *testing.T, duration time.Duration, run func(ctx context.Context, work func(context.Context))) (seconds []float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		run(ctx, func(ctx context.Context) {
			seconds = append(seconds, time.Since(start).Seconds())
			timer.Sleep(ctx, duration)
		})
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("the loop ended after %s, want 10 s: the end of its context", took)
		}
	})
	return seconds
}

func TestEveryCallsWorkOncePerIntervalUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	got := callTimes(t, 0, func(ctx context.Context, work func(context.Context)) { timer.Every(ctx, 3*time.Second, work) })
	if want := []float64{3, 6, 9}; !slices.Equal(got, want) {
		t.Errorf("calls at %v s, want %v", got, want)
	}
}

func TestCallsOfEveryDoNotOverlap(t *testing.T) {
	t.Parallel()
	got := callTimes(t, 5*time.Second, func(ctx context.Context, work func(context.Context)) { timer.Every(ctx, 2*time.Second, work) })
	if want := []float64{2, 7}; !slices.Equal(got, want) {
		t.Errorf("calls at %v s, want %v", got, want)
	}
}

func TestAValueWakesTheLoop(t *testing.T) {
	t.Parallel()
	got := callTimes(t, 0, func(ctx context.Context, work func(context.Context)) {
		wake := make(chan struct{}, 1)
		timer.Wake(wake)
		timer.Wake(wake) // shares the value of the first
		time.AfterFunc(4*time.Second, func() { timer.Wake(wake) })
		timer.EveryOrWoken(ctx, 6*time.Second, wake, work)
	})
	if want := []float64{0, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("calls at %v s, want %v", got, want)
	}
}

func TestAnEndedContextStopsTheLoopBeforeTheNextCall(t *testing.T) {
	t.Parallel()
	for range 20 { // a select would choose either case
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wake := make(chan struct{}, 1)
		timer.Wake(wake)
		timer.EveryOrWoken(ctx, time.Hour, wake, func(context.Context) { t.Error("work was called after the end of its context") })
	}
}

func TestOnlyTheFirstFailureOfASeriesIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	failure := errors.New("no connection")
	outcomes := []error{nil, failure, failure, nil, failure, nil, nil}
	work := timer.LogFailures(slog.New(slog.NewTextHandler(&log, nil)), "reload", func(context.Context) error {
		if len(outcomes) == 0 {
			cancel()
			return failure
		}
		err := outcomes[0]
		outcomes = outcomes[1:]
		return err
	})
	for range 8 {
		work(ctx)
	}
	var levels []string
	for line := range strings.Lines(log.String()) {
		level, _, _ := strings.Cut(line[strings.Index(line, "level=")+6:], " ")
		levels = append(levels, level)
	}
	if want := []string{"WARN", "INFO", "WARN", "INFO"}; !slices.Equal(levels, want) {
		t.Errorf("levels %v, want %v: %s", levels, want, &log)
	}
}
