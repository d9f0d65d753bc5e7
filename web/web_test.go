package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func request(t *testing.T, method, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	Handler(games("demo")).ServeHTTP(w, r)
	return w
}

func getBody(t *testing.T, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(games("demo")).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Body.String()
}

// bundleURL returns the URL path of the bundle with an extension, as the index names it.
func bundleURL(t *testing.T, extension string) string {
	t.Helper()
	m := regexp.MustCompile(`(?:src|href)="(/assets/[a-z]+-[A-Z0-9]{8}\` + extension + `)"`).FindStringSubmatch(getBody(t, "/"))
	if m == nil {
		t.Fatalf("the index names no %s bundle", extension)
	}
	return m[1]
}

func TestFilesAreServedWithTheirTypes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/":                                  "text/html; charset=utf-8",
		"/?guest=new":                        "text/html; charset=utf-8",
		bundleURL(t, ".js"):                  "text/javascript; charset=utf-8",
		bundleURL(t, ".css"):                 "text/css; charset=utf-8",
		"/favicon.svg":                       "image/svg+xml",
		"/vendor/preact-10.29.8.LICENSE.txt": "text/plain; charset=utf-8",
	} {
		res := request(t, http.MethodGet, path, nil)
		if res.Code != http.StatusOK || res.Header().Get("Content-Type") != want {
			t.Errorf("%s: %d %q, want 200 %q", path, res.Code, res.Header().Get("Content-Type"), want)
		}
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/index.html", "/games.html", "/app.js", "/css/base.css", "/assets/", "/assets/app.js", "/views", "/vendor/", "/static/app.js", "/web.go", "/favicon.ico", "//", "/../web.go"} {
		if res := request(t, http.MethodGet, path, nil); res.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, res.Code)
		}
	}
}

// A first visit loads the page, two bundles and the icon, together at most 60 kB. A visit
// may cost 120 kB, so half of that is left for images and data.
func TestPageIsSmall(t *testing.T) {
	t.Parallel()
	total := 0
	for _, path := range []string{"/", bundleURL(t, ".js"), bundleURL(t, ".css"), "/favicon.svg"} {
		res := request(t, http.MethodGet, path, http.Header{"Accept-Encoding": {"br, gzip;q=0.8"}})
		if res.Header().Get("Content-Encoding") != "gzip" || res.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: headers %v", path, res.Header())
		}
		total += res.Body.Len()
	}
	if total > 60_000 {
		t.Errorf("a first visit loads %d bytes", total)
	}
}

func TestCompressedBodyIsTheSame(t *testing.T) {
	t.Parallel()
	path := bundleURL(t, ".js")
	plain := request(t, http.MethodGet, path, http.Header{"Accept-Encoding": {"identity, gzip;q=0"}})
	packed := request(t, http.MethodGet, path, http.Header{"Accept-Encoding": {"gzip"}})
	r, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(unpacked, plain.Body.Bytes()) || plain.Header().Get("Content-Encoding") != "" {
		t.Errorf("%d bytes of %d, %v", len(unpacked), plain.Body.Len(), err)
	}
	if plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Error("both forms have the same ETag")
	}
}

// The URL of a bundle names its content, so browsers need not ask again.
func TestBundlesAreKept(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{".js", ".css"} {
		if got := request(t, http.MethodGet, bundleURL(t, extension), nil).Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", extension, got)
		}
	}
	small := fstest.MapFS{"index.html": {}, "games.html": {}, "app.js": {Data: []byte("import './a.js'")}, "css/page.css": {}, "a.js": {Data: []byte("one()")}}
	first, err := newSite(small)
	if err != nil {
		t.Fatal(err)
	}
	small["a.js"] = &fstest.MapFile{Data: []byte("two()")}
	second, err := newSite(small)
	if err != nil {
		t.Fatal(err)
	}
	if first.assets[scriptBundle].url == second.assets[scriptBundle].url {
		t.Errorf("another module gives the same URL %s", first.assets[scriptBundle].url)
	}
}

// During an upgrade, nodes of the old and the new version share the visitors. A node answers a
// request for a bundle of the other version with its own.
func TestBundleOfAnotherVersionIsReplaced(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{".js", ".css"} {
		url := bundleURL(t, extension)
		name, _, _ := strings.Cut(url, "-")
		res := request(t, http.MethodGet, name+"-AAAAAAAA"+extension, nil)
		if res.Code != http.StatusOK || res.Body.String() != getBody(t, url) || res.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d, headers %v", name, res.Code, res.Header())
		}
	}
}

// An import of a file that does not exist stops the start, with a message that names it.
func TestMissingModuleIsAnError(t *testing.T) {
	t.Parallel()
	_, err := newSite(fstest.MapFS{"index.html": {}, "app.js": {Data: []byte("import './missing.js'")}, "css/page.css": {}})
	if err == nil || !strings.Contains(err.Error(), "missing.js") {
		t.Errorf("%v", err)
	}
}

func TestOnlyGETAndHEADAreAllowed(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		res := request(t, method, "/", nil)
		if res.Code != http.StatusMethodNotAllowed || res.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, res.Code, res.Header().Get("Allow"))
		}
	}
	res := request(t, http.MethodHead, "/", nil)
	if res.Code != http.StatusOK || res.Header().Get("Content-Length") == "" {
		t.Errorf("HEAD: %d with length %q", res.Code, res.Header().Get("Content-Length"))
	}
}

func TestUnchangedFilesAreSentWithoutABody(t *testing.T) {
	t.Parallel()
	first := request(t, http.MethodGet, "/", nil)
	etag := first.Header().Get("ETag")
	if !regexp.MustCompile(`^"[\w-]{16}"$`).MatchString(etag) || first.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("ETag %q, Cache-Control %q", etag, first.Header().Get("Cache-Control"))
	}
	if other := request(t, http.MethodGet, "/favicon.svg", nil).Header().Get("ETag"); other == etag {
		t.Error("two files share an ETag")
	}
	revalidated := request(t, http.MethodGet, "/", http.Header{"If-None-Match": {etag}})
	if revalidated.Code != http.StatusNotModified {
		t.Errorf("with the current ETag: %d, want 304", revalidated.Code)
	}
	stale := request(t, http.MethodGet, "/", http.Header{"If-None-Match": {`"other"`}})
	if stale.Code != http.StatusOK {
		t.Errorf("with another ETag: %d, want 200", stale.Code)
	}
}

func TestETagFollowsTheContent(t *testing.T) {
	t.Parallel()
	etagOf := func(content string) string { return newFile([]byte(content), "text/plain").etag }
	first, sameContent, otherContent := etagOf("1"), etagOf("1"), etagOf("2")
	if first == otherContent || first != sameContent {
		t.Error("an ETag must depend only on the content")
	}
}

func TestAFileOfUnknownTypeIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := readFiles(fstest.MapFS{"a.exe": {}}); err == nil {
		t.Error("want an error")
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/favicon.svg", "/missing"} {
		headers := request(t, http.MethodGet, path, nil).Header()
		csp := headers.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: CSP %q lacks %q", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || headers.Get("Cross-Origin-Opener-Policy") != "same-origin" || !strings.Contains(headers.Get("Permissions-Policy"), "microphone=()") {
			t.Errorf("%s: headers %v", path, headers)
		}
	}
}

// Every file that the index names must be served. Otherwise a browser shows a blank page.
func TestEveryFileThatTheIndexNamesIsServed(t *testing.T) {
	t.Parallel()
	for _, m := range regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(getBody(t, "/"), -1) {
		if res := request(t, http.MethodGet, m[1], nil); res.Code != http.StatusOK {
			t.Errorf("the index names %s: %d", m[1], res.Code)
		}
	}
}

// The policy forbids inline scripts and styles; a browser would drop them.
func TestTheIndexHasNothingInline(t *testing.T) {
	t.Parallel()
	if m := regexp.MustCompile(`(?s)<script[^>]*>[^<]|<style|\sstyle=|\son\w+=`).FindString(getBody(t, "/")); m != "" {
		t.Errorf("inline: %q", m)
	}
}

// sources returns the modules by path below static.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"static/*.js", "static/*/*.js"} {
		names, err := fs.Glob(embedded, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := embedded.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[strings.TrimPrefix(name, "static/")] = string(text)
		}
	}
	return found
}
