// Package web is the players' page, embedded in the binary: an index, stylesheets and ES
// modules. They are bundled when a server starts, so that a first visit needs few requests.
//
// [Colors] makes the look of a game from a few colours and checks the contrast of every text and
// control by WCAG 2.2, level AA. The default look is in static/css/base.css. The package must not
// know configuration files.
package web

import (
	"embed"
	"fmt"
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
	built, err := bundleEmbedded()
	if err != nil {
		panic(err)
	}
	pages, err := newPages(built, games)
	if err != nil {
		panic(err)
	}
	return secured(serve(pages, built))
}

type site struct {
	templates *template.Template // indexPage and gamesPage
	files     map[string]file    // by URL path
	bundles   assets
}

// bundleEmbedded bundles the embedded tree, once in a process.
var bundleEmbedded = sync.OnceValues(func() (site, error) {
	tree, err := fs.Sub(embedded, "static")
	if err != nil {
		return site{}, fmt.Errorf("web: %w", err)
	}
	return newSite(tree)
})

func newSite(tree fs.FS) (site, error) {
	files, err := readFiles(tree)
	if err != nil {
		return site{}, err
	}
	bundles, err := bundle(tree)
	if err != nil {
		return site{}, err
	}
	templates, err := template.ParseFS(tree, indexPage, gamesPage)
	if err != nil {
		return site{}, fmt.Errorf("web: %w", err)
	}
	return site{templates: templates, files: files, bundles: bundles}, nil
}

func serve(pages pages, built site) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page is read with GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		served, ok := pages.find(r.URL.Path)
		if !ok {
			served, ok = built.files[r.URL.Path]
		}
		if !ok {
			http.Error(w, "this page does not exist; / leads to the games of this server", http.StatusNotFound)
			return
		}
		served.serve(w, r)
	})
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

func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers := w.Header()
		headers.Set("Content-Security-Policy", policy)
		headers.Set("Permissions-Policy", permissions)
		headers.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}
