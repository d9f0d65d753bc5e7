package redismatch

import (
	"testing"
	"time"
)

func TestClaimedCodeIsFreeAnHourAfterRetirement(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		game := m.plan.ID // not used by other tests
		claim := func(code, id string, want bool) {
			m.Helper()
			for range 2 { // a repeated claim changes nothing
				if got, err := m.ClaimCode(m.Context(), game, code, id); err != nil || got != want {
					m.Errorf("%s for %s: %v, %v", code, id, got, err)
				}
			}
		}
		find := func(game, code, want string) {
			m.Helper()
			if got, err := m.FindCode(m.Context(), game, code); err != nil || got != want {
				m.Errorf("%s belongs to %q, %v", code, got, err)
			}
		}
		find(game, "123456", "")
		claim("123456", "m_one", true)
		claim("123456", "m_two", false)
		claim("654321", "m_two", true)
		find(game, "123456", "m_one")
		find("other", "123456", "")
		key := codeKey(game, "123456")
		if ttl := m.client.TTL(m.Context(), key).Val(); ttl < 24*time.Hour {
			m.Errorf("claimed for %v", ttl)
		}
		m.must(m.RetireCode(m.Context(), game, "123456"))
		find(game, "123456", "m_one")
		claim("123456", "m_two", false)
		if ttl := m.client.TTL(m.Context(), key).Val(); ttl > time.Hour || ttl < 50*time.Minute {
			m.Errorf("retired for %v", ttl)
		}
		m.client.Del(m.Context(), key) // simulate the expiry
		claim("123456", "m_two", true)
	})
}
