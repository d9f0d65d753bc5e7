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

// Handler serves the page at "/" and every embedded file at its path below
// static, to GET and HEAD; anything else is 404 or 405, and folders are not
// listed. Each file carries a strong ETag of its content and must be
// revalidated, so a new binary's page is seen at once and an unchanged one
// costs a 304. Every answer carries the security headers. It panics if the
// embedded tree cannot be read, which no built binary can show.
// It is safe for concurrent use.
func Handler() http.Handler {
	tree, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err)
	}
	files, err := readFiles(tree)
	if err != nil {
		panic(err)
	}
	return secured(serve(files))
}

func serve(files map[string]file) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page is read with GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		f, ok := files[r.URL.Path]
		if !ok {
			http.Error(w, "there is no such page; the game is at /", http.StatusNotFound)
			return
		}
		f.serve(w, r)
	})
}
