package main

import "time"

// formatTime formats epoch ms for a table, in UTC. It formats 0 as "-".
func formatTime(ms int64) string {
	if ms == 0 {
		return emptyCell
	}
	return time.UnixMilli(ms).UTC().Format(time.DateTime)
}

// formatExpiry returns "until" and the time ms (epoch ms), or "forever" for 0.
func formatExpiry(ms int64) string {
	if ms == 0 {
		return "forever"
	}
	return "until " + formatTime(ms) + " UTC"
}

// expiryAfter returns the time after d in epoch ms. It returns 0 (never) if d is 0.
func expiryAfter(d time.Duration) int64 {
	if d == 0 {
		return 0
	}
	return time.Now().Add(d).UnixMilli()
}
