package redisx

import (
	"errors"
	"strings"
	"testing"
)

func TestServersBeforeRedis7AreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"redis_version:7.0.0":    true,
		"redis_version:7.4.1":    true,
		"redis_version:8.2.1":    true,
		"redis_version:255.0.0":  true,
		"redis_version:6.2.14":   false,
		"redis_version:2.8":      false,
		"redis_version:":         false,
		"redis_version:unstable": false,
		"other:1":                false,
	}
	for line, isAccepted := range tests {
		err := checkVersion("# Server\r\n" + line + "\r\nos:Linux\r\n")
		if isAccepted && err != nil || !isAccepted && !errors.Is(err, ErrVersion) {
			t.Errorf("%s: %v", line, err)
		}
		if err != nil && !strings.Contains(remedy(err, address{}), "upgrade") {
			t.Errorf("%s: %s", line, remedy(err, address{}))
		}
	}
}
