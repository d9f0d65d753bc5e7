package config

import (
	"fmt"
	"io"
	"os"

	"laststand/web/theme"
)

// Page configures how the page of a game looks. Colors has the colours.
type Page struct {
	// Name of the game on its page, in the list of games and in the browser's tab. Empty: Laststand; the list shows the package name.
	Title string `yaml:"title" check:"optional title" allowed:"at most 40 characters"`
	// Image beside the title, and the icon in the browser's tab. A relative path starts at the folder of the configuration file. Empty: the emblem of Laststand.
	Logo string `yaml:"logo" allowed:"a path; PNG or JPEG of at most 50,000 bytes and 32 to 1,024 pixels"`
	// Colour of buttons and of what belongs to the player. Other colours follow from it.
	Accent string `yaml:"accent" allowed:"#rrggbb on which dark or white text has a contrast of 4.5:1"`
	// Background of the page on devices with light colours.
	Background string `yaml:"background" allowed:"#rrggbb on which dark text has a contrast of 4.5:1, and controls 3:1"`
	// Background of the page on devices with dark colours.
	DarkBackground string `yaml:"dark_background" allowed:"#rrggbb on which light text has a contrast of 4.5:1, and controls 3:1"`
}

const maxPageTitle = 40 // characters

// Colors returns the colours of the page. Validate checks them.
func (p Page) Colors() theme.Colors {
	return theme.Colors{Accent: p.Accent, Background: p.Background, DarkBackground: p.DarkBackground}
}

// ReadLogo reads the logo of a game. It returns nothing if the game has no logo.
func (c *Config) ReadLogo(game string) ([]byte, error) {
	path := c.Games[game].Page.Logo
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(c.resolvePath(path))
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, theme.MaxLogoBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	if _, err := theme.CheckLogo(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, nil
}
