package redismatch

import (
	"testing"
	"time"
)

func TestCodes(t *testing.T) {
	each(t, func(p *testMatch) {
		game := p.plan.ID // not used by other tests
		claim := func(code, id string, want bool) {
			p.Helper()
			for range 2 { // it may be repeated
				if got, err := p.ClaimCode(p.Context(), game, code, id); err != nil || got != want {
					p.Errorf("%s for %s: %v, %v", code, id, got, err)
				}
			}
		}
		find := func(game, code, want string) {
			p.Helper()
			if got, err := p.FindCode(p.Context(), game, code); err != nil || got != want {
				p.Errorf("%s leads to %q, %v", code, got, err)
			}
		}
		find(game, "123456", "")
		claim("123456", "m_one", true)
		claim("123456", "m_two", false)
		claim("654321", "m_two", true)
		find(game, "123456", "m_one")
		find("other", "123456", "")
		key := codeKey(game, "123456")
		if ttl := p.client.TTL(p.Context(), key).Val(); ttl < 24*time.Hour {
			p.Errorf("taken for %v", ttl)
		}
		if err := p.RetireCode(p.Context(), game, "123456"); err != nil {
			p.Fatal(err)
		}
		find(game, "123456", "m_one")
		claim("123456", "m_two", false)
		if ttl := p.client.TTL(p.Context(), key).Val(); ttl > time.Hour || ttl < 50*time.Minute {
			p.Errorf("rests for %v", ttl)
		}
		p.client.Del(p.Context(), key) // simulate the expiry
		claim("123456", "m_two", true)
	})
}
