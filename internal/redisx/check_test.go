package redisx

import (
	"errors"
	"strings"
	"testing"
)

func TestServersBeforeRedis7AreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"7.0.0":    true,
		"7.4.1":    true,
		"8.2.1":    true,
		"255.0.0":  true,
		"6.2.14":   false,
		"2.8":      false,
		"":         false,
		"unstable": false,
	}
	for version, isAccepted := range tests {
		err := checkVersion(version)
		if isAccepted && err != nil || !isAccepted && !errors.Is(err, ErrVersion) {
			t.Errorf("%s: %v", version, err)
		}
		if err != nil && !strings.Contains(remedy(err, address{}), "upgrade") {
			t.Errorf("%s: %s", version, remedy(err, address{}))
		}
	}
}
