package web

import (
	"bytes"
	"html/template"
	"regexp"
	"slices"
)

// gamePath matches the page of a game, "/g/GAME", and the link into one of its
// arenas, "/g/GAME/join/CODE".
var gamePath = regexp.MustCompile(`^/g/([^/]+)(/join/[0-9]{6})?$`)

// gameMark is the attribute of the index that names the game to the page's code.
const gameMark = `data-game=""`

// list is what "/" shows on a server of several games.
var list = template.Must(template.New("list").Parse(`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Laststand</title>
  <link rel="icon" href="/favicon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="{{.Style}}">
</head>
<body>
  <main id="page">
    <h1>Laststand</h1>
    <ul>{{range .Games}}
      <li><a href="/g/{{.}}">{{.}}</a></li>{{end}}
    </ul>
  </main>
</body>
</html>
`))

// pages are the HTML pages of a server: one for each game, and "/".
type pages struct {
	root  file
	games map[string]file
}

// newPages makes the page of each game from the index, and "/": the page of the
// only game, or a list of all.
func newPages(built site, games []string) (pages, error) {
	p, html := pages{games: map[string]file{}}, contentTypes[".html"]
	for _, game := range games {
		named := []byte(`data-game="` + template.HTMLEscapeString(game) + `"`)
		p.games[game] = newFile(bytes.Replace(built.index, []byte(gameMark), named, 1), html)
	}
	if len(games) == 1 {
		p.root = p.games[games[0]]
		return p, nil
	}
	var text bytes.Buffer
	err := list.Execute(&text, struct {
		Style string
		Games []string
	}{built.urls[styleEntry], slices.Sorted(slices.Values(games))})
	if err != nil {
		return pages{}, err
	}
	p.root = newFile(text.Bytes(), html)
	return p, nil
}

// find finds the page at a URL path.
func (p pages) find(path string) (file, bool) {
	if path == "/" {
		return p.root, true
	}
	parts := gamePath.FindStringSubmatch(path)
	if parts == nil {
		return file{}, false
	}
	page, ok := p.games[parts[1]]
	return page, ok
}
