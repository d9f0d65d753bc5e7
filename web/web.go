// Package web is the players' page, embedded in the binary: an index, stylesheets and ES
// modules. They are bundled when a server starts, so that a first visit needs few requests.
//
// [Colors] makes the look of a game from a few colours and checks the contrast of every text and
// control by WCAG 2.2, level AA. The default look is in static/css/base.css. The package must not
// know configuration files.
package web

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"sync"
)

//go:embed static
var embedded embed.FS

// Handler serves the page of each game at "/g/GAME" and, for links into an arena,
// at "/g/GAME/join/CODE". "/" is the page of the only game, or a list of several. The colours
// of a game must have passed their check.
// The bundles of modules and stylesheets are served below "/assets/" by a hash of their
// content, which browsers keep for a year. Other files, for example licenses, are served at
// their path below static. Browsers must revalidate these and the pages by their strong ETag.
// Files are sent compressed if the browser accepts gzip.
// It answers other methods than GET and HEAD with 405, and other paths with 404. Every response
// has the security headers. Handler panics if the embedded files cannot be bundled, which means
// that the build is broken. It is safe for concurrent use.
func Handler(games []Game) http.Handler {
	s, err := embeddedSite()
	if err == nil {
		s, err = s.withGames(games)
	}
	if err != nil {
		panic(err)
	}
	return s
}

// site has everything that is served.
type site struct {
	templates *template.Template // indexPage and gamesPage
	files     map[string]file    // by URL path
	assets    assets             // the bundles, and the looks of games
}

// embeddedSite returns the site of the embedded tree, without games. It bundles once in a process.
var embeddedSite = sync.OnceValues(func() (site, error) {
	tree, _ := fs.Sub(embedded, "static") // the path is valid
	return newSite(tree)
})

func newSite(tree fs.FS) (s site, err error) {
	if s.files, err = readFiles(tree); err != nil {
		return s, err
	}
	if s.assets, err = bundle(tree); err != nil {
		return s, err
	}
	s.templates, err = template.ParseFS(tree, indexPage, gamesPage)
	return s, err
}

// ServeHTTP implements http.Handler.
func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	headers.Set("Content-Security-Policy", policy)
	headers.Set("Permissions-Policy", permissions)
	headers.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		headers.Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read with GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	served, ok := s.find(r.URL.Path)
	if !ok {
		http.Error(w, "this page does not exist; / leads to the games of this server", http.StatusNotFound)
		return
	}
	served.serve(w, r)
}

// policy lets the page run its own files and speak to its own host, the
// websocket included, and nothing else.
var policy = strings.Join([]string{
	"default-src 'self'",
	"script-src 'self'",
	"style-src 'self'",
	"connect-src 'self'",
	"img-src 'self'",
	"object-src 'none'",
	"base-uri 'none'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"require-trusted-types-for 'script'",
}, "; ")

// permissions takes from the page what it does not need.
const permissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
