package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the formats of logos
	_ "image/png"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// defaultTitle is the title of a game without a title of its own.
const defaultTitle = "Laststand"

// Game is a game that the page plays.
type Game struct {
	Name   string
	Title  string // "": defaultTitle
	Colors Colors
	Logo   []byte // an image that CheckLogo accepts; empty: the emblem of the default look
}

// gameView is what the templates show of a game. URL paths are "" if the game has no such file.
type gameView struct {
	Game
	OwnTitle      string // "" without a title of its own
	Logo, Theme   string // URL paths
	Style, Script string // URL paths
}

// withGames returns a site that also has the page and the look of each game, and "/": the page of the
// only game, or a list of all.
func (s site) withGames(games []Game) (_ site, err error) {
	s.files, s.assets = maps.Clone(s.files), maps.Clone(s.assets)
	style, script := s.assets[styleBundle].url, s.assets[scriptBundle].url
	var views []gameView
	for _, game := range slices.SortedFunc(slices.Values(games), func(a, b Game) int { return strings.Compare(a.Name, b.Name) }) {
		view := gameView{Game: game, OwnTitle: game.Title, Style: style, Script: script}
		view.Title = cmp.Or(game.Title, defaultTitle)
		view.Theme = s.assets.addLook(game.Name, "theme", ".css", []byte(game.Colors.Stylesheet()))
		if format, err := CheckLogo(game.Logo); err == nil {
			view.Logo = s.assets.addLook(game.Name, "logo", "."+format, game.Logo)
		}
		page, err := s.render(indexPage, view)
		if err != nil {
			return site{}, err
		}
		s.files["/g/"+game.Name], s.files["/"] = page, page
		views = append(views, view)
	}
	if len(games) > 1 {
		s.files["/"], err = s.render(gamesPage, struct {
			Colors Colors
			Style  string
			Games  []gameView
		}{DefaultColors(), style, views})
	}
	return s, err
}

// addLook adds a file of a game's look and returns its URL path, or "" for an empty content.
func (a assets) addLook(game, name, extension string, content []byte) string {
	if len(content) == 0 {
		return ""
	}
	sum := sha256.Sum256(content)
	url := fmt.Sprintf("/g/%s/%s-%x%s", game, name, sum[:8], extension)
	a.add(url, content)
	return url
}

func (s site) render(name string, data any) (file, error) {
	var text bytes.Buffer
	if err := s.templates.ExecuteTemplate(&text, name, data); err != nil {
		return file{}, fmt.Errorf("web: %w", err)
	}
	return newFile(text.Bytes(), contentTypes[".html"]), nil
}

// joinPath matches a link into an arena. It leads to the page of the game, which is its first part.
var joinPath = regexp.MustCompile(`^(/g/[^/]+)/join/[0-9]{6}$`)

// find returns the page or file at a URL path.
func (s site) find(path string) (file, bool) {
	if parts := joinPath.FindStringSubmatch(path); parts != nil {
		path = parts[1]
	}
	if found, ok := s.files[path]; ok {
		return found, true
	}
	return s.assets.find(path)
}

// Limits of a logo. A first visit to the page stays below 120 kB with the largest logo.
const (
	MaxLogoBytes  = 50_000
	minLogoPixels = 32
	maxLogoPixels = 1024
)

// CheckLogo returns the format of a logo: png or jpeg. It refuses other formats, damaged
// files, and images that are too small or too large.
func CheckLogo(content []byte) (format string, err error) {
	if len(content) > MaxLogoBytes {
		return "", fmt.Errorf("the file is larger than %d bytes; use a smaller image", MaxLogoBytes)
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || format != "png" && format != "jpeg" { // other packages register other formats
		return "", errors.New("the file is no PNG or JPEG image; use one of the two")
	}
	if min(size.Width, size.Height) < minLogoPixels || max(size.Width, size.Height) > maxLogoPixels {
		return "", fmt.Errorf("the image has %d × %d pixels; use %d to %d in each direction", size.Width, size.Height, minLogoPixels, maxLogoPixels)
	}
	if _, _, err := image.Decode(bytes.NewReader(content)); err != nil {
		return "", fmt.Errorf("the image is damaged: %w", err)
	}
	return format, nil
}
