package httpserver

import (
	"testing"
	"time"
)

func TestParseRetryAfterReadsSecondsAndDates(t *testing.T) {
	t.Parallel()
	now := time.Date(1994, 11, 6, 8, 49, 30, 500_000_000, time.UTC)
	tests := map[string]time.Duration{
		"":                               0,
		"soon":                           0,
		"-5":                             0,
		"1.5":                            0,
		"+3":                             0,
		"0":                              time.Second,
		"1":                              time.Second,
		" 120 ":                          2 * time.Minute,
		"3600":                           time.Hour,
		"3601":                           time.Hour,
		"99999999999999999999999":        time.Hour,
		"Sun, 06 Nov 1994 08:49:37 GMT":  6500 * time.Millisecond,
		"Sunday, 06-Nov-94 08:49:37 GMT": 6500 * time.Millisecond,
		"Sun Nov  6 08:49:37 1994":       6500 * time.Millisecond,
		"Sun, 06 Nov 1994 08:49:31 GMT":  time.Second,
		"Sun, 06 Nov 1993 08:49:37 GMT":  time.Second,
		"Sun, 06 Nov 2094 08:49:37 GMT":  time.Hour,
		"Sun, 06 Nov 1994 08:49:37 CET":  0,
		"Sun, 36 Nov 1994 08:49:37 GMT":  0,
	}
	for header, want := range tests {
		if got := ParseRetryAfter(header, now); got != want {
			t.Errorf("ParseRetryAfter(%q) = %s, want %s", header, got, want)
		}
	}
}
