package main

import (
	"fmt"

	"laststand/web"
)

// webGames returns the games with the looks of their pages.
func (n *node) webGames() (games []web.Game, err error) {
	for _, name := range n.config.GameNames() {
		logo, err := n.config.ReadLogo(name)
		if err != nil { // the file has changed since Validate
			return nil, fmt.Errorf("games.%s.page.logo: %w", name, err)
		}
		page := n.config.Games[name].Page
		games = append(games, web.Game{Name: name, Title: page.Title, Colors: page.Colors(), Logo: logo})
	}
	return games, nil
}
