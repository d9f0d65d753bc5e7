package nppa

import "time"

const banned = time.Minute

// gate limits the request rate of a game.
type gate struct {
	passed []time.Time // within the last second
	until  time.Time   // all requests are refused before this time
}

// pass admits a request of a game, or shuts the game out.
func (f *Fake) pass(biz string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.o.PerSecond == 0 {
		return true
	}
	g := f.gates[biz]
	if g == nil {
		g = &gate{}
		f.gates[biz] = g
	}
	return g.pass(f.o.Now(), f.o.PerSecond)
}

func (g *gate) pass(now time.Time, perSecond int) bool {
	if now.Before(g.until) {
		return false
	}
	for len(g.passed) > 0 && now.Sub(g.passed[0]) >= time.Second {
		g.passed = g.passed[1:]
	}
	if len(g.passed) == perSecond {
		g.until = now.Add(banned)
		return false
	}
	g.passed = append(g.passed, now)
	return true
}
