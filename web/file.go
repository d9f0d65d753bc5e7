package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

const index = "index.html"

// contentTypes names every kind of file that may be embedded. It is our own
// table: mime.TypeByExtension answers by the machine it runs on.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// file is one embedded file, ready to be served.
type file struct {
	body        []byte
	contentType string
	etag        string
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	headers.Set("Content-Type", f.contentType)
	headers.Set("ETag", f.etag)
	headers.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

// readFiles reads a tree into files by URL path; the path of the index is only "/".
// It fails on a file whose content type is not known.
func readFiles(tree fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := readFile(tree, name)
		if err != nil {
			return err
		}
		files[urlPath(name)] = content
		return nil
	})
	return files, err
}

func readFile(tree fs.FS, name string) (file, error) {
	contentType, ok := contentTypes[path.Ext(name)]
	if !ok {
		return file{}, fmt.Errorf("web: %s: no content type for %q", name, path.Ext(name))
	}
	body, err := fs.ReadFile(tree, name)
	if err != nil {
		return file{}, fmt.Errorf("web: read: %w", err)
	}
	return newFile(body, contentType), nil
}

// newFile gives a file a strong ETag of its content.
func newFile(body []byte, contentType string) file {
	sum := sha256.Sum256(body)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return file{body: body, contentType: contentType, etag: etag}
}

func urlPath(name string) string {
	if name == index {
		return "/"
	}
	return "/" + name
}
