package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The templates of the HTML pages, by path below static.
const (
	indexPage = "index.html" // the page of a game
	gamesPage = "games.html" // the list of several games
)

// contentTypes names every kind of file that is served. It is our own table:
// mime.TypeByExtension answers by the machine it runs on.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".jpeg": "image/jpeg",
	".js":   "text/javascript; charset=utf-8",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

type file struct {
	body, gzipped []byte // gzipped is nil if it would not be smaller
	contentType   string
	etag          string
	isImmutable   bool // true: the URL names this content and no other
}

// assets are the files whose URL paths contain a hash of the content, by the path without the hash.
type assets map[string]asset

type asset struct {
	file
	url string
}

// hashedPath splits a URL path into the parts before and after the hash.
var hashedPath = regexp.MustCompile(`^(.+)-[0-9A-Za-z]+(\.[a-z]+)$`)

// add adds the file of a URL path.
func (a assets) add(url string, content []byte) {
	parts := hashedPath.FindStringSubmatch(url)
	a[parts[1]+parts[2]] = asset{newFile(content, contentTypes[parts[2]]), url}
}

// find returns the file at a URL path. A path with another hash is from a node with another version
// or configuration, as during an upgrade; browsers must revalidate the answer to it.
func (a assets) find(path string) (file, bool) {
	parts := hashedPath.FindStringSubmatch(path)
	if parts == nil {
		return file{}, false
	}
	found, ok := a[parts[1]+parts[2]]
	found.isImmutable = path == found.url
	return found.file, ok
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	headers.Set("Content-Type", f.contentType)
	headers.Set("Cache-Control", "no-cache")
	if f.isImmutable {
		headers.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, etag := f.body, f.etag
	if f.gzipped != nil {
		headers.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			headers.Set("Content-Encoding", "gzip")
			body, etag = f.gzipped, strings.TrimSuffix(f.etag, `"`)+`-gzip"`
		}
	}
	headers.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// acceptsGzip reports whether a request accepts gzip, see RFC 9110, 12.5.3. It ignores "*".
func acceptsGzip(values []string) bool {
	for offered := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, weight, _ := strings.Cut(offered, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			quality, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return weight == "" || err == nil && quality > 0
		}
	}
	return false
}

// readFiles reads the files of a tree that are served as they are, by URL path. Modules,
// stylesheets and templates are not. It fails on a file whose content type is not known.
func readFiles(tree fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		extension := path.Ext(name)
		contentType, ok := contentTypes[extension]
		if !ok {
			return fmt.Errorf("web: %s: no content type for %q", name, extension)
		}
		if extension == ".js" || extension == ".css" || extension == ".html" {
			return nil
		}
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			return fmt.Errorf("web: read: %w", err)
		}
		files["/"+name] = newFile(body, contentType)
		return nil
	})
	return files, err
}

// newFile compresses a file and gives it a strong ETag of its content.
func newFile(body []byte, contentType string) file {
	sum := sha256.Sum256(body)
	return file{body: body, gzipped: compress(body), contentType: contentType, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func compress(body []byte) []byte {
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // the level is valid
	_, _ = w.Write(body)                                           // a buffer does not fail
	_ = w.Close()
	if compressed.Len() >= len(body) {
		return nil
	}
	return compressed.Bytes()
}
