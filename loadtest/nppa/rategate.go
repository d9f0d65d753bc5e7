package nppa

import "time"

const banDuration = time.Minute

// rateGate limits the request rate of a game.
type rateGate struct {
	admittedAt  []time.Time // within the last second
	bannedUntil time.Time   // all requests are refused before this time
}

// admit admits a request of a game, or shuts the game out.
func (f *Fake) admit(biz string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.options.PerSecond == 0 {
		return true
	}
	g := f.gates[biz]
	if g == nil {
		g = &rateGate{}
		f.gates[biz] = g
	}
	return g.admit(f.options.Now(), f.options.PerSecond)
}

func (g *rateGate) admit(now time.Time, perSecond int) bool {
	if now.Before(g.bannedUntil) {
		return false
	}
	for len(g.admittedAt) > 0 && now.Sub(g.admittedAt[0]) >= time.Second {
		g.admittedAt = g.admittedAt[1:]
	}
	if len(g.admittedAt) == perSecond {
		g.bannedUntil = now.Add(banDuration)
		return false
	}
	g.admittedAt = append(g.admittedAt, now)
	return true
}
