package httpserver

import (
	"net/http"
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
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.Atoi(header)
		if err != nil || seconds > int(maxRetry/time.Second) {
			return maxRetry
		}
		return max(minRetry, time.Duration(seconds)*time.Second)
	}
	retryTime, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(minRetry, retryTime.Sub(now)), maxRetry)
}
