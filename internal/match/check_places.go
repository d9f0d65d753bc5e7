package match

import "sync"

// placesCheck remembers which sessions of an arena seem to have lost their place.
type placesCheck struct {
	mu           sync.Mutex
	checkedEnded int64                 // value of State.EndedPlaces at the last clean check
	withoutPlace map[string]Subscriber // sessions without a place at the last check
}

// isNeeded reports whether places have ended since the last clean check.
func (c *placesCheck) isNeeded(ended int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ended != c.checkedEnded
}

// confirm records which sessions have no place, and returns the players whose session
// had none at the previous check either.
func (c *placesCheck) confirm(withoutPlace map[string]Subscriber, ended int64) (confirmed []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for player, session := range withoutPlace {
		if c.withoutPlace[player] == session {
			confirmed = append(confirmed, player)
		}
	}
	if c.withoutPlace = withoutPlace; len(withoutPlace) == len(confirmed) {
		c.withoutPlace, c.checkedEnded = nil, ended
	}
	return confirmed
}
