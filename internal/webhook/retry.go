package webhook

import (
	"strconv"
	"strings"
	"time"
)

const (
	minRetry = time.Second
	maxRetry = time.Hour
)

// ParseRetryAfter parses the header Retry-After: seconds or an HTTP date (RFC 9110,
// 10.2.3). It returns the pause that the receiver asks for, at least 1 s and at most
// 1 h. It returns 0 if the header is absent or invalid.
func ParseRetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if isDigits(header) {
		seconds, err := strconv.Atoi(header)
		if err != nil || seconds > int(maxRetry/time.Second) {
			return maxRetry
		}
		return max(minRetry, time.Duration(seconds)*time.Second)
	}
	for _, layout := range dateLayouts {
		if retryTime, err := time.Parse(layout, header); err == nil {
			return min(max(minRetry, retryTime.Sub(now)), maxRetry)
		}
	}
	return 0
}

// dateLayouts are the three date formats of RFC 9110, 5.6.7, all in GMT.
var dateLayouts = []string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
