package main

import (
	"strings"

	"laststand/internal/leaderboard"
)

// laterParts are the settings of a game that are read and take no effect yet.
var laterParts = []string{"behaviours", "duel.pair_limit_per_day"}

// notBuilt names what the file sets and this version gives no effect.
func (c *config) notBuilt() []string {
	var names []string
	for _, name := range c.gameNames() {
		for _, part := range laterParts {
			if c.sets("games", name, part) {
				names = append(names, "games."+name+"."+part)
			}
		}
		if kept := c.boardConfig(name); c.sets("games", name, "leaderboards.windows") && len(kept.Served()) < len(kept.Windows) {
			names = append(names, "games."+name+".leaderboards.windows other than "+string(leaderboard.All)+" and "+string(leaderboard.Day))
		}
	}
	if c.sets("limits", "guests_per_minute_per_address") {
		names = append(names, "limits.guests_per_minute_per_address")
	}
	return names
}

// sets tells whether the file sets something. The last step of the path may be
// several, with dots.
func (c *config) sets(path ...string) bool {
	last := len(path) - 1
	path = append(path[:last:last], strings.Split(path[last], ".")...)
	var at any = c.said
	for _, step := range path {
		section, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = section[step]; !ok {
			return false
		}
	}
	return true
}
