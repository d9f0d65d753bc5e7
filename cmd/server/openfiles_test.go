package main

import (
	"log/slog"
	"math"
	"strings"
	"testing"

	"laststand/internal/config"
	"laststand/internal/testenv"
)

// A newcomer, who has set no limit, gets no warning.
func TestLowOpenFileLimitIsAWarningOnlyForAConfiguredLimit(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"limits: {messages_per_second: 20}": "level=INFO", "limits: {connections: 99999}": "level=WARN"} {
		c := testenv.Need(config.Read(configFile(t, file)))(t)
		log := new(logBuffer)
		logLowOpenFileLimit(slog.New(slog.NewTextHandler(log, nil)), 20_000, c.Limits.Connections)
		if got := log.String(); !strings.Contains(got, want) || !strings.Contains(got, "possible_connections=16818") {
			t.Errorf("%s: it logs %q, want %s", file, got, want)
		}
	}
}

// The test checks how many files a node must be able to open, and how many websockets the
// allowed files permit. With that many websockets the files are enough.
func TestCheckOpenFilesReturnsThePossibleWebsockets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		allowed               uint64
		websockets            int64
		neededFiles, possible int64
		isEnough              bool
	}{
		{math.MaxUint64, 100_000, 111_500, 100_000, true},
		{111_500, 100_000, 111_500, 100_000, true},
		{111_499, 100_000, 111_500, 99_999, false},
		{20_000, 100_000, 111_500, 16_818, false},
		{1024, 100_000, 111_500, 0, false},
		{1024, 0, 1500, 0, false},
	} {
		neededFiles, possible, isEnough := checkOpenFiles(test.allowed, test.websockets)
		if neededFiles != test.neededFiles || possible != test.possible || isEnough != test.isEnough {
			t.Errorf("%d files for %d: need %d, room %d, enough %v", test.allowed, test.websockets, neededFiles, possible, isEnough)
		}
		if stillNeeded, _, fits := checkOpenFiles(test.allowed, possible); possible > 0 && !fits {
			t.Errorf("%d files are not enough for %d: %d needed", test.allowed, possible, stillNeeded)
		}
	}
}
