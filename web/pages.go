package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the formats of logos
	_ "image/png"
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

// pages are the HTML pages of a server: one for each game, and "/".
type pages struct {
	root  file
	games map[string]gamePage
}

// gamePage is the page of a game with the files of its look.
type gamePage struct {
	html        file
	theme, logo asset
}

// asset is a file whose URL path contains a hash of its content. The zero asset does not exist.
type asset struct {
	file
	url string
}

// gameView is what the templates show of a game. URL paths are "" if the game has no such file.
type gameView struct {
	Game
	OwnTitle      string // "" without a title of its own
	Logo, Theme   string // URL paths
	Style, Script string // URL paths
}

// newPages makes the page of each game, and "/": the page of the only game, or a list of all.
func newPages(built site, games []Game) (p pages, err error) {
	p.games = map[string]gamePage{}
	var views []gameView
	for _, game := range slices.SortedFunc(slices.Values(games), func(a, b Game) int { return strings.Compare(a.Name, b.Name) }) {
		page := gamePage{
			theme: newAsset(game.Name, "theme", ".css", []byte(game.Colors.Stylesheet())),
			logo:  newLogo(game),
		}
		view := gameView{Game: game, OwnTitle: game.Title, Logo: page.logo.url, Theme: page.theme.url, Style: built.urls[styleEntry], Script: built.urls[scriptEntry]}
		view.Title = cmp.Or(game.Title, defaultTitle)
		if page.html, err = built.render(indexPage, view); err != nil {
			return pages{}, err
		}
		p.games[game.Name], p.root = page, page.html
		views = append(views, view)
	}
	if len(games) > 1 {
		p.root, err = built.render(gamesPage, struct {
			Colors Colors
			Style  string
			Games  []gameView
		}{DefaultColors(), built.urls[styleEntry], views})
	}
	return p, err
}

func (s site) render(name string, data any) (file, error) {
	var text bytes.Buffer
	if err := s.templates.ExecuteTemplate(&text, name, data); err != nil {
		return file{}, fmt.Errorf("web: %w", err)
	}
	return newFile(text.Bytes(), contentTypes[".html"]), nil
}

func newLogo(game Game) asset {
	format, err := CheckLogo(game.Logo)
	if err != nil {
		return asset{} // without a logo
	}
	return newAsset(game.Name, "logo", "."+format, game.Logo)
}

// newAsset returns a file of a game's look, or the zero asset for an empty content.
func newAsset(game, name, extension string, content []byte) asset {
	if len(content) == 0 {
		return asset{}
	}
	f := newFile(content, contentTypes[extension])
	f.isImmutable = true
	return asset{f, fmt.Sprintf("/g/%s/%s-%s%s", game, name, f.hash, extension)}
}

// gamePath matches the page of a game, "/g/GAME", the link into one of its arenas,
// "/g/GAME/join/CODE", and the files of its look.
var gamePath = regexp.MustCompile(`^/g/([^/]+)(?:/join/[0-9]{6}|/(theme|logo)-[0-9a-f]{16}\.[a-z]+)?$`)

func (p pages) find(path string) (file, bool) {
	if path == "/" {
		return p.root, true
	}
	parts := gamePath.FindStringSubmatch(path)
	if parts == nil {
		return file{}, false
	}
	page, ok := p.games[parts[1]]
	switch parts[2] {
	case "theme":
		return page.theme.at(path)
	case "logo":
		return page.logo.at(path)
	}
	return page.html, ok
}

// at returns the file for a request of its URL path. A path with another hash is from a node
// with another configuration; browsers must revalidate the answer to it.
func (a asset) at(path string) (file, bool) {
	f := a.file
	f.isImmutable = path == a.url
	return f, a.url != ""
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
