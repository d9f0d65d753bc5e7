package redisx_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	if err := testenv.OpenRedis(t, server.URL).Client.ConfigSet(t.Context(), "requirepass", "hush").Err(); err != nil {
		t.Fatal(err)
	}
	passwordAddr := strings.TrimPrefix(server.URL, "redis://")
	singleAddr := strings.TrimPrefix(testenv.Redis(t).URL, "redis://")
	stopped := testenv.Redis(t)
	stopped.Stop()

	tests := map[string][]string{
		stopped.URL: {stopped.Addr, "connection refused", "start it"},
		"redis://" + stopped.Addr + "?cluster=true":  {stopped.Addr, "start it"},
		"redis+sentinel://" + stopped.Addr + "/main": {"main", stopped.Addr, "start it"},
		"redis://no.such.host.invalid":               {"no.such.host.invalid:6379", "correct --redis"},
		"redis://" + passwordAddr:                    {passwordAddr, "NOAUTH", "password in --redis"},
		"redis://me:wrong@" + passwordAddr:           {passwordAddr, "WRONGPASS", "password in --redis"},
		"redis://" + singleAddr + "?cluster=true":    {singleAddr, "no cluster"},
		"redis://" + singleAddr + "/99":              {singleAddr, "out of range"},
		"rediss://" + singleAddr:                     {singleAddr, "does it speak TLS"},
		"nonsense":                                   {"redis://host:port"},
	}
	for url, wants := range tests {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			conn, err := redisx.Open(ctx, redisx.Config{URL: url})
			if err == nil {
				conn.Close()
				t.Fatal("Open succeeded")
			}
			if ctx.Err() != nil {
				t.Error("Open did not return before its context ended")
			}
			for _, want := range wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), "wrong@") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestOpenWarnsOfEviction(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	openAndCountWarnings := func() int {
		counter := &warningCounter{}
		conn, err := redisx.Open(t.Context(), redisx.Config{URL: server.URL, Logger: slog.New(counter)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
			t.Fatal(err)
		}
		return counter.warnings
	}
	if n := openAndCountWarnings(); n != 0 {
		t.Errorf("noeviction: %d warnings", n)
	}
	if n := openAndCountWarnings(); n != 1 {
		t.Errorf("allkeys-lru: %d warnings, want 1", n)
	}
}

// warningCounter is a log handler that counts warnings.
type warningCounter struct{ warnings int }

func (c *warningCounter) Enabled(context.Context, slog.Level) bool { return true }
func (c *warningCounter) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *warningCounter) WithGroup(string) slog.Handler            { return c }

func (c *warningCounter) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn {
		c.warnings++
	}
	return nil
}
