package protocol

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIsMatchIDRefusesColonsAndLongIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"m_01M82MEW86VF75GT6V7TFSH35R": true, "m_1": true, "a.b-C_9": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "m_1:lock:0:p_ada": false, "m_1:plan": false, "m{1}": false, "m 1": false,
		"m_1\n": false, "m\x00": false, "é": false, "m|v": false, "@": false, "[": false, "`": false, "{": false,
	} {
		if IsMatchID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
		char := rapid.Byte().Draw(t, "byte")
		if got := IsMatchID("m" + string([]byte{char})); got != strings.Contains(alphabet, string([]byte{char})) || char > 127 && got {
			t.Errorf("%q: %v", char, got)
		}
	})
}
