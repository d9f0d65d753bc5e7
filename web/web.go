// Package web is the players' page, embedded in the binary: an index, a
// stylesheet and ES modules that a browser runs as they are.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed static
var embedded embed.FS

// Handler serves the page of each game at "/g/GAME" and, for links into an arena,
// at "/g/GAME/join/CODE". "/" is the page of the only game, or a list of several.
// Every embedded file is served at its path below static. It answers
// other methods than GET and HEAD with 405, and other paths with 404. It does not list folders.
// Each file has a strong ETag of its content, and browsers must revalidate it. So browsers show the
// page of a new binary immediately, and get a 304 for an unchanged file. Every response has the
// security headers. Handler panics if the embedded tree cannot be read, which means that the build
// is broken.
// It is safe for concurrent use.
func Handler(games []string) http.Handler {
	tree, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err)
	}
	files, err := readFiles(tree)
	if err != nil {
		panic(err)
	}
	pages, err := newPages(files["/"], games)
	if err != nil {
		panic(err)
	}
	delete(files, "/")
	return secured(serve(pages, files))
}

func serve(pages pages, files map[string]file) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page is read with GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		served, ok := pages.find(r.URL.Path)
		if !ok {
			served, ok = files[r.URL.Path]
		}
		if !ok {
			http.Error(w, "this page does not exist; / leads to the games of this server", http.StatusNotFound)
			return
		}
		served.serve(w, r)
	})
}
