package main

import "strings"

// notBuilt names what the file sets and this version gives no effect.
func (c *config) notBuilt() []string {
	var names []string
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
