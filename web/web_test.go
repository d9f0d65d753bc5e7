package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	gopath "path"
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
	Handler([]string{"demo"}).ServeHTTP(w, r)
	return w
}

func getBody(t *testing.T, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	Handler([]string{"demo"}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Body.String()
}

func TestFilesAreServedWithTheirTypes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/":                                  "text/html; charset=utf-8",
		"/?guest=new":                        "text/html; charset=utf-8",
		"/app.js":                            "text/javascript; charset=utf-8",
		"/views/app.js":                      "text/javascript; charset=utf-8",
		"/css/base.css":                      "text/css; charset=utf-8",
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
	for _, path := range []string{"/index.html", "/views", "/views/", "/vendor/", "/static/app.js", "/web.go", "/favicon.ico", "//", "/../web.go"} {
		if res := request(t, http.MethodGet, path, nil); res.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, res.Code)
		}
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
	first := request(t, http.MethodGet, "/app.js", nil)
	etag := first.Header().Get("ETag")
	if !regexp.MustCompile(`^"[\w-]{16}"$`).MatchString(etag) || first.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("ETag %q, Cache-Control %q", etag, first.Header().Get("Cache-Control"))
	}
	if other := request(t, http.MethodGet, "/", nil).Header().Get("ETag"); other == etag {
		t.Error("two files share an ETag")
	}
	revalidated := request(t, http.MethodGet, "/app.js", http.Header{"If-None-Match": {etag}})
	if revalidated.Code != http.StatusNotModified {
		t.Errorf("with the current ETag: %d, want 304", revalidated.Code)
	}
	stale := request(t, http.MethodGet, "/app.js", http.Header{"If-None-Match": {`"other"`}})
	if stale.Code != http.StatusOK {
		t.Errorf("with another ETag: %d, want 200", stale.Code)
	}
}

func TestETagFollowsTheContent(t *testing.T) {
	t.Parallel()
	etagOf := func(content string) string {
		files, err := readFiles(fstest.MapFS{"a.js": {Data: []byte(content)}})
		if err != nil {
			t.Fatal(err)
		}
		return files["/a.js"].etag
	}
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
	for _, path := range []string{"/", "/app.js", "/missing"} {
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

// Every file that the page names must be embedded. Otherwise a browser shows a blank page.
func TestEveryFileThatThePageNamesIsEmbedded(t *testing.T) {
	t.Parallel()
	files := embeddedFiles(t)
	for _, m := range regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(getBody(t, "/"), -1) {
		if _, ok := files[m[1]]; !ok {
			t.Errorf("index names %s, which is not embedded", m[1])
		}
	}
	imports := regexp.MustCompile(`(?:from|import)\s*['"]([^'"]+)['"]`)
	for path, f := range files {
		if !strings.HasSuffix(path, ".js") {
			continue
		}
		for _, m := range imports.FindAllStringSubmatch(string(f.body), -1) {
			if _, ok := files[gopath.Join(gopath.Dir(path), m[1])]; !ok {
				t.Errorf("%s imports %q, which is not embedded", path, m[1])
			}
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

// The dictionaries of both languages have the same keys.
func TestLanguagesHaveTheSameKeys(t *testing.T) {
	t.Parallel()
	keys := func(path string) map[string]bool {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^  '([^']+)':`).FindAllStringSubmatch(getBody(t, path), -1) {
			found[m[1]] = true
		}
		return found
	}
	en, zh := keys("/lang/en.js"), keys("/lang/zh.js")
	if len(en) == 0 {
		t.Fatal("no keys found")
	}
	for key := range en {
		if !zh[key] {
			t.Errorf("zh lacks %q", key)
		}
	}
	for key := range zh {
		if !en[key] {
			t.Errorf("en lacks %q", key)
		}
	}
}

// Every text key that a view uses must be in the dictionary. Otherwise the view fails.
func TestEveryTextIsInTheDictionary(t *testing.T) {
	t.Parallel()
	dictionary := getBody(t, "/lang/en.js")
	textCall := regexp.MustCompile("\\bt\\(['`]([^'`$]+)(['`$])")
	texts := 0
	for path, f := range embeddedFiles(t) {
		if strings.HasPrefix(path, "/vendor/") {
			continue
		}
		for _, m := range textCall.FindAllStringSubmatch(string(f.body), -1) {
			key, isWholeKey := m[1], m[2] != "$"
			if texts++; !strings.Contains(dictionary, "\n  '"+key) || isWholeKey && !strings.Contains(dictionary, "\n  '"+key+"':") {
				t.Errorf("%s uses the key %q, which the dictionary does not have", path, key)
			}
		}
	}
	if texts < 100 {
		t.Errorf("only %d texts found", texts)
	}
}

func embeddedFiles(t *testing.T) map[string]file {
	t.Helper()
	tree, err := fs.Sub(embedded, "static")
	if err != nil {
		t.Fatal(err)
	}
	files, err := readFiles(tree)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
