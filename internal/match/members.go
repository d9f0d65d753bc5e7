package match

import "sync"

// memberCache remembers the members of an arena that this node has looked up. The zero
// value is empty.
type memberCache struct {
	mu       sync.Mutex
	byPlayer map[string]Member
}

func (c *memberCache) find(player string) (Member, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.byPlayer[player]
	return m, ok
}

// hasRole reports whether a player is known to have a role.
func (c *memberCache) hasRole(player string, role Role) bool {
	m, ok := c.find(player)
	return ok && m.Role == role
}

func (c *memberCache) store(member Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPlayer == nil {
		c.byPlayer = make(map[string]Member)
	}
	c.byPlayer[member.Seat.Player] = member
}

func (c *memberCache) forget(player string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byPlayer, player)
}
