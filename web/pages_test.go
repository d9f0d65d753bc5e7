package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// games returns games of the default look.
func games(names ...string) (all []Game) {
	for _, name := range names {
		all = append(all, Game{Name: name, Colors: DefaultColors()})
	}
	return all
}

// getPage reads a path of a server with some games.
func getPage(path string, names ...string) (code int, body string) {
	w := httptest.NewRecorder()
	Handler(games(names...)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestEveryGameHasItsPage(t *testing.T) {
	t.Parallel()
	for _, game := range []string{"demo", "com.example.quiz"} {
		for _, path := range []string{"/g/" + game, "/g/" + game + "?guest=new", "/g/" + game + "/join/402951"} {
			code, body := getPage(path, "demo", "com.example.quiz")
			if code != http.StatusOK || !strings.Contains(body, `<html lang="en" data-game="`+game+`" data-title="Laststand" data-logo="">`) {
				t.Errorf("%s: %d, want the page of %s", path, code, game)
			}
		}
	}
}

func TestPathsWithoutAGameAreNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/g", "/g/", "/g/other", "/g/demo/", "/g/demo/join", "/g/demo/join/40295", "/g/demo/join/4029510", "/g/demo/join/abcdef", "/g/demo/app.js"} {
		if code, _ := getPage(path, "demo"); code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, code)
		}
	}
}

func TestTheRootIsThePageOfTheOnlyGame(t *testing.T) {
	t.Parallel()
	if _, body := getPage("/", "com.example.quiz"); !strings.Contains(body, `data-game="com.example.quiz"`) {
		t.Error("the root is not the page of the only game")
	}
}

func TestTheRootListsSeveralGames(t *testing.T) {
	t.Parallel()
	code, body := getPage("/", "demo", "com.example.quiz")
	if code != http.StatusOK || strings.Contains(body, "<script") {
		t.Errorf("%d, with a script: %v", code, strings.Contains(body, "<script"))
	}
	for _, game := range []string{"demo", "com.example.quiz"} {
		if !strings.Contains(body, `<a class="game" href="/g/`+game+`"><span>`+game+`</span></a>`) {
			t.Errorf("the list has no link to %s", game)
		}
	}
}
