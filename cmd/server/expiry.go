package main

import "time"

// instant formats epoch ms for a table; 0 as "-".
func instant(ms int64) string {
	if ms == 0 {
		return none
	}
	return time.UnixMilli(ms).UTC().Format(time.DateTime)
}

// expiryText says in a sentence when something expires, in epoch ms; 0: never.
func expiryText(ms int64) string {
	if ms == 0 {
		return "forever"
	}
	return "until " + instant(ms) + " UTC"
}

// expiresIn returns the epoch ms of a duration from now; 0 for 0, which means never.
func expiresIn(d time.Duration) int64 {
	if d == 0 {
		return 0
	}
	return time.Now().Add(d).UnixMilli()
}
