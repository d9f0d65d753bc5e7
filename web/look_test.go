package web

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// quizLook is a game with a look of its own.
func quizLook(t *testing.T) Game {
	t.Helper()
	var logo bytes.Buffer
	if err := png.Encode(&logo, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		t.Fatal(err)
	}
	return Game{Name: "com.example.quiz", Title: `Quiz "<b>Night</b>"`, Colors: Colors{Accent: "#0b3d91", Background: "#fdf6e3", DarkBackground: "#101418"}, Logo: logo.Bytes()}
}

// The page of a game has its title, colours and logo; a page of another game has not.
func TestAGameHasItsOwnLook(t *testing.T) {
	t.Parallel()
	own := quizLook(t)
	h := Handler([]Game{own, games("demo")[0]})
	read := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	page := read("/g/com.example.quiz/join/402951").Body.String()
	const title = `Quiz &#34;&lt;b&gt;Night&lt;/b&gt;&#34;`
	for _, want := range []string{`data-title="` + title + `"`, `<title>` + title + `</title>`, `content="#fdf6e3" media="(prefers-color-scheme: light)"`, `content="#101418" media="(prefers-color-scheme: dark)"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	for name, want := range map[string]struct{ contentType, text string }{
		"theme": {"text/css; charset=utf-8", own.Colors.Stylesheet()}, "logo": {"image/png", string(own.Logo)},
	} {
		url := regexp.MustCompile(`"(/g/com\.example\.quiz/` + name + `-[0-9a-f]{16}\.[a-z]+)"`).FindStringSubmatch(page)
		if url == nil {
			t.Fatalf("the page names no %s:\n%s", name, page)
		}
		got := read(url[1])
		if got.Code != http.StatusOK || got.Header().Get("Content-Type") != want.contentType || got.Body.String() != want.text || !strings.Contains(got.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, headers %v, %d bytes", url[1], got.Code, got.Header(), got.Body.Len())
		}
		other := regexp.MustCompile(`-[0-9a-f]{16}`).ReplaceAllString(url[1], "-0123456789abcdef")
		if got := read(other); got.Body.String() != want.text || got.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s of a node with another configuration: %d, headers %v", name, got.Code, got.Header())
		}
		if got := read(strings.Replace(url[1], "com.example.quiz", "demo", 1)); got.Code != http.StatusNotFound {
			t.Errorf("the game demo has a %s: %d", name, got.Code)
		}
	}
	if other := read("/g/demo").Body.String(); strings.Contains(other, "Night") || strings.Contains(other, "/theme-") || strings.Contains(other, "/logo-") {
		t.Errorf("the page of another game has a part of the look:\n%s", other)
	}
	if list := read("/").Body.String(); !strings.Contains(list, "Night") || !strings.Contains(list, "/logo-") || !strings.Contains(list, "<span>demo</span>") {
		t.Errorf("the list lacks a title or logo:\n%s", list)
	}
}
